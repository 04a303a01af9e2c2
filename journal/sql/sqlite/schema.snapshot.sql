CREATE TABLE attempts (
    call_id    text    not null references calls (call_id),
    number     integer not null,
    reason     text    not null check (reason in ('first', 'replay', 'allowed')),
    token      integer not null,
    seq        integer not null,
    boot_id    text    not null references boots (boot_id),
    started_at integer not null,
    primary key (call_id, number)
) strict;

CREATE TABLE batches (
    one    integer primary key check (one = 1),
    number integer not null
, journal_id text not null default '', generation integer not null default 1, heads integer not null default 0 check (heads in (0, 1)), place integer not null default 0) strict;

CREATE TABLE blobs (
    blob_id integer primary key,
    digest  text    not null unique,
    body    blob    not null
, is_node integer not null default 0 check (is_node in (0, 1))) strict;

CREATE TABLE boots (
    boot_id    text    primary key,
    started_at integer not null,
    ended_at   integer,
    facts      blob    not null
) strict;

CREATE TABLE "calls" (
    call_id          text    not null unique,
    run_id           text    not null references runs (run_id),
    path             text    not null,
    step             integer not null,
    kind             text    not null check (kind in ('model', 'tool', 'utility', 'delivery')),
    ordinal          integer not null,
    name             text    not null,
    identity         text    not null,
    arguments_digest text    not null references blobs (digest),
    extra_digest     text    references blobs (digest),
    lossy            integer not null check (lossy in (0, 1)),
    policy           text,
    source_digest    text,
    attempts         integer not null default 0,
    allowance        integer not null default 0 check (allowance between 0 and 3),
    token            integer not null default 0,
    boot_id          text    not null references boots (boot_id),
    outcome          text    check (outcome in ('ok', 'error', 'unknown', 'interrupted', 'superseded', 'confirmed')),
    value_digest     text    references blobs (digest),
    value_lossy      integer not null default 0 check (value_lossy in (0, 1)),
    result_digest    text,
    result_extra     text    references blobs (digest),
    error            text    not null default '',
    usage            blob,
    started_at       integer not null,
    ended_at         integer,
    seq              integer primary key,
    origin           text    not null default 'ran' check (origin in ('ran', 'decision')),
    served           integer not null default 0,
    abandoned        integer not null default 0 check (abandoned in (0, seq)),
    check ((outcome is null) = (result_digest is null)),
    check ((outcome is null) = (ended_at is null))
) strict;

CREATE TABLE chats (
    chat_id    text    primary key,
    created_at integer not null) strict;

CREATE TABLE "checkpoints" (
    seq        integer primary key,
    run_id     text    not null,
    root       text    not null,
    body       blob,
    position   blob    not null,
    seal       text    not null,
    created_at integer not null,
    foreign key (run_id, seq) references events (run_id, seq)
) strict;

CREATE TABLE conflicts (
    conflict_id text    primary key,
    document_id text    not null,
    base        integer not null,
    stored      integer not null,
    body_digest text    not null references blobs (digest),
    written_by  text    not null,
    state       text    not null check (state in ('open', 'resolved')),
    seq         integer not null,
    at          integer not null
) strict;

CREATE TABLE decisions (
    request_id   text    primary key,
    run_id       text    not null references runs (run_id),
    call_id      text    references calls (call_id),
    choice       text    not null check (choice in ('resume', 'new_attempt', 'confirmed_completed', 'confirmed_not_completed', 'stop')),
    shown_digest text    not null,
    note         text    not null,
    ack          integer not null check (ack in (0, 1)),
    origin       text    not null,
    request      text    not null,
    hold_since   integer not null,
    version      integer not null,
    seq          integer not null,
    at           integer not null
) strict;

CREATE TABLE documents (
    document_id text    not null,
    revision    integer not null check (revision >= 1),
    chat_id     text    not null references chats (chat_id),
    kind        text    not null,
    body_digest text    not null references blobs (digest),
    written_by  text    not null,
    seq         integer not null,
    at          integer not null,
    primary key (document_id, revision)
) strict;

CREATE TABLE "events" (
    run_id  text    not null references runs (run_id),
    seq     integer not null,
    at      integer not null,
    kind    text    not null,
    call_id text,
    version integer,
    boot_id text    not null references boots (boot_id),
    facts   blob,
    primary key (run_id, seq)
) strict, without rowid;

CREATE TABLE evidence (
    evidence_id   integer primary key,
    call_id       text    not null references calls (call_id),
    kind          text    not null,
    outcome       text,
    value_digest  text    references blobs (digest),
    result_digest text,
    error         text    not null default '',
    facts         blob,
    seq           integer not null,
    at            integer not null
) strict;

CREATE TABLE generations (
    generation integer primary key check (generation >= 2),
    began_at   integer not null,
    reason     text    not null check (reason in ('rolled_back', 'replaced', 'moved')),
    facts      blob    not null
) strict;

CREATE TABLE grants (
    request_id text    primary key,
    run_id     text    not null references runs (run_id),
    call_id    text    not null references calls (call_id),
    attempts   integer not null check (attempts between 1 and 3),
    origin     text    not null,
    request    text    not null,
    version    integer not null,
    seq        integer not null,
    at         integer not null
) strict;

CREATE TABLE inputs (
    chat_id    text    not null references chats (chat_id),
    input_id   text    not null,
    run_id     text    not null references runs (run_id),
    digest     text    not null references blobs (digest),
    state      text    not null check (state in ('waiting', 'delivered', 'offered', 'discarded')),
    created_at integer not null,
    changed_at integer not null,
    seq        integer not null,
    primary key (chat_id, input_id)
) strict;

CREATE TABLE notices (
    seq     integer primary key,
    at      integer not null,
    kind    text    not null,
    boot_id text    not null references boots (boot_id),
    facts   blob
) strict;

CREATE TABLE openings (
    opening     text    primary key,
    first_batch integer not null
) strict;

CREATE TABLE "restore_selections" (
    selection_id   text    primary key,
    run_id         text    not null references runs (run_id),
    checkpoint_seq integer references "checkpoints" (seq),
    request_id     text    not null unique,
    note           text    not null,
    origin         text    not null,
    seq            integer not null,
    at             integer not null
) strict;

CREATE TABLE runs (
    run_id         text    primary key,
    chat_id        text    not null references chats (chat_id),
    parent_call_id text    references calls (call_id),
    input_id       text    not null,
    input_digest   text    not null references blobs (digest),
    title          text    not null,
    state          text    not null check (state in ('queued', 'running', 'held', 'completed', 'failed', 'stopped')),
    version        integer not null check (version >= 1),
    token          integer not null check (token >= 0),
    mode           blob    not null,
    hold_reason    text,
    hold_call_id   text    references calls (call_id),
    hold_text      text    not null default '',
    hold_facts     blob,
    hold_since     integer,
    recoveries     integer not null default 0,
    answer_digest  text    references blobs (digest),
    created_at     integer not null,
    changed_at     integer not null,
    boot_id        text    not null references boots (boot_id),
    checkpoint_seq integer not null default 0,
    check ((state = 'held') = (hold_reason is not null))
) strict;

CREATE TABLE schema_versions (
    version     integer primary key,
    digest      text    not null,
    applied_at  integer not null
) strict;

CREATE TABLE tombstones (
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

CREATE INDEX children_by_state on runs (state, run_id) where parent_call_id is not null;

CREATE INDEX children_of_calls on runs (parent_call_id) where parent_call_id is not null;

CREATE INDEX claims_of_runs on events (boot_id, run_id) where kind = 'run_claimed';

CREATE INDEX conflicts_of_document on conflicts (document_id) where state = 'open';

CREATE INDEX decisions_of_call on decisions (call_id) where call_id is not null;

CREATE INDEX decisions_of_run on decisions (run_id, seq);

CREATE INDEX documents_of_chat on documents (chat_id);

CREATE INDEX ends_of_runs on events (seq, boot_id, run_id) where kind in ('run_completed', 'run_failed');

CREATE INDEX grants_of_call on grants (call_id);

CREATE INDEX grants_of_run on grants (run_id, seq);

CREATE INDEX held_runs on runs (hold_since, run_id) where state = 'held';

CREATE INDEX holds_of_calls on runs (hold_call_id) where hold_call_id is not null;

CREATE INDEX inputs_of_run on inputs (run_id, seq);

CREATE UNIQUE INDEX one_call_per_key on calls (run_id, path, step, kind, ordinal, abandoned);

CREATE UNIQUE INDEX one_evidence_per_result on evidence (call_id, kind, result_digest);

CREATE UNIQUE INDEX one_run_per_message on runs (chat_id, input_id) where parent_call_id is null;

CREATE UNIQUE INDEX one_unfinished_run_per_chat on runs (chat_id)
    where parent_call_id is null and state in ('queued', 'running', 'held');

CREATE INDEX open_inputs_of_run on inputs (run_id) where state in ('waiting', 'offered');

CREATE INDEX runs_of_chat on runs (chat_id, run_id);

CREATE INDEX selections_of_checkpoint on restore_selections (checkpoint_seq) where checkpoint_seq is not null;

CREATE INDEX selections_of_run on restore_selections (run_id);

CREATE INDEX waiting_inputs on inputs (chat_id, seq) where state = 'waiting';
