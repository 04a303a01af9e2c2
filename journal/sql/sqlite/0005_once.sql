-- The same content once, and one tree for each kind of record where two were kept. Nothing that was recorded is lost. Frozen.

-- Parts of saved states lie among the other bodies, so that the same content is stored once. The mark is raised and never
-- lowered: what was such a part goes only where no state leads to it. Where the two copies differ one was damaged.
alter table blobs add column is_node integer not null default 0 check (is_node in (0, 1));
insert into blobs (digest, body, is_node)
select digest, body, 1
  from nodes
 where true
 order by node_id
    on conflict (digest) do update
   set is_node = 1,
       body    = case when body is not excluded.body and sha256(excluded.body) = digest then excluded.body else body end;
drop table nodes;

-- Events lie by their run, so that no index has to lead there. What happened to no run lies apart.
create table notices (
    seq     integer primary key,
    at      integer not null,
    kind    text    not null,
    boot_id text    not null references boots (boot_id),
    facts   blob
) strict;
insert into notices (seq, at, kind, boot_id, facts)
select seq, at, kind, boot_id, facts
  from events
 where run_id is null
 order by seq;
create table events_by_run (
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
insert into events_by_run (run_id, seq, at, kind, call_id, version, boot_id, facts)
select run_id, seq, at, kind, call_id, version, boot_id, facts
  from events
 where run_id is not null
 order by run_id, seq;
drop table events;
alter table events_by_run rename to events;
create index ends_of_runs on events (seq, boot_id, run_id) where kind in ('run_completed', 'run_failed');
create index claims_of_runs on events (boot_id, run_id) where kind = 'run_claimed';

-- A checkpoint's number is the place of its event, which is also the way to it; its run names the newest. Of a run that was
-- being removed the events may have gone first.
insert into events (run_id, seq, at, kind, boot_id)
select c.run_id, c.seq, c.created_at, 'checkpoint_saved', r.boot_id
  from checkpoints c
  join runs r on r.run_id = c.run_id
 where not exists (select 1 from events e where e.run_id = c.run_id and e.seq = c.seq);
update runs
   set checkpoint_seq = (select max(c.seq) from checkpoints c where c.run_id = runs.run_id)
 where checkpoint_seq <> (select max(c.seq) from checkpoints c where c.run_id = runs.run_id);
create table checkpoints_by_place (
    seq        integer primary key,
    run_id     text    not null,
    root       text    not null,
    body       blob,
    position   blob    not null,
    seal       text    not null,
    created_at integer not null,
    foreign key (run_id, seq) references events (run_id, seq)
) strict;
insert into checkpoints_by_place (seq, run_id, root, body, position, seal, created_at)
select seq, run_id, root, body, position, seal, created_at
  from checkpoints
 order by seq;
create table selections_by_place (
    selection_id   text    primary key,
    run_id         text    not null references runs (run_id),
    checkpoint_seq integer references checkpoints_by_place (seq),
    request_id     text    not null unique,
    note           text    not null,
    origin         text    not null,
    seq            integer not null,
    at             integer not null
) strict;
insert into selections_by_place (selection_id, run_id, checkpoint_seq, request_id, note, origin, seq, at)
select s.selection_id, s.run_id, case when s.checkpoint_id is not null then coalesce(c.seq, 0) end, s.request_id, s.note, s.origin,
       s.seq, s.at
  from restore_selections s
  left join checkpoints c on c.checkpoint_id = s.checkpoint_id;
drop table restore_selections;
drop table checkpoints;
alter table checkpoints_by_place rename to checkpoints;
alter table selections_by_place rename to restore_selections;
create index selections_of_run on restore_selections (run_id);
create index selections_of_checkpoint on restore_selections (checkpoint_seq) where checkpoint_seq is not null;

-- What a turn writes at its beginning and its end, and nobody asks for.
alter table chats drop column changed_at;
drop index finished_runs;
-- The one unfinished run of a chat has an index already; those that other runs started are found by this one.
drop index unfinished_runs;
create index children_by_state on runs (state, run_id) where parent_call_id is not null;
