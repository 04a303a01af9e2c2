-- Retention: what is left of a message whose run was removed, and the ways by which removal finds its records.

-- The same message id stays a repeat, and other content under it stays refused, for ever.
create table tombstones (
    chat_id    text    not null references chats (chat_id),
    input_id   text    not null,
    kind       text    not null check (kind in ('run', 'message')),
    digest     text    not null,
    run_id     text    not null,
    state      text    not null,
    created_at integer not null,
    ended_at   integer not null,
    removed_at integer not null,
    primary key (chat_id, input_id)
) strict;

create index finished_runs on runs (changed_at, run_id)
    where parent_call_id is null and state in ('completed', 'failed', 'stopped');

-- A record that others may name is removed only after a look at those; without these each look would read whole tables.
create index children_of_calls on runs (parent_call_id) where parent_call_id is not null;
create index holds_of_calls on runs (hold_call_id) where hold_call_id is not null;
create index decisions_of_call on decisions (call_id) where call_id is not null;
create index grants_of_call on grants (call_id);
create index selections_of_run on restore_selections (run_id);
create index selections_of_checkpoint on restore_selections (checkpoint_id) where checkpoint_id is not null;
create index open_inputs_of_run on inputs (run_id) where state in ('waiting', 'offered');
create index conflicts_of_document on conflicts (document_id) where state = 'open';
create index documents_of_chat on documents (chat_id);
