-- Less to write for each step. Nothing that was recorded is lost. Frozen.

-- Places used to be given by AUTOINCREMENT, in a table of its own. The row that every commit writes anyway gives them now.
alter table batches add column place integer not null default 0;
update batches
   set place = coalesce((select seq from sqlite_sequence where name = 'events'), 0);

create table events_by_place (
    seq     integer primary key,
    at      integer not null,
    kind    text    not null,
    run_id  text    references runs (run_id),
    call_id text,
    version integer,
    boot_id text    not null references boots (boot_id),
    facts   blob
) strict;
insert into events_by_place (seq, at, kind, run_id, call_id, version, boot_id, facts)
select seq, at, kind, run_id, call_id, version, boot_id, facts
  from events
 order by seq;
drop table events;
alter table events_by_place rename to events;
create index events_of_run on events (run_id, seq);
create index ends_of_runs on events (seq, boot_id, run_id) where kind in ('run_completed', 'run_failed');
create index claims_of_runs on events (boot_id, run_id) where kind = 'run_claimed';

-- A call's number is its place, so that calls are appended; the index of its key is also the way to the calls of a run.
create table calls_by_place (
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
insert into calls_by_place
       (call_id, run_id, path, step, kind, ordinal, name, identity, arguments_digest, extra_digest, lossy, policy,
        source_digest, attempts, allowance, token, boot_id, outcome, value_digest, value_lossy, result_digest, result_extra,
        error, usage, started_at, ended_at, seq, origin, served, abandoned)
select call_id, run_id, path, step, kind, ordinal, name, identity, arguments_digest, extra_digest, lossy, policy,
       source_digest, attempts, allowance, token, boot_id, outcome, value_digest, value_lossy, result_digest, result_extra,
       error, usage, started_at, ended_at, seq, origin, served, abandoned * seq
  from calls
 order by seq;
drop table calls;
alter table calls_by_place rename to calls;
-- One record for each place in a run; abandoned ones stay beside it, each under its own place in the journal.
create unique index one_call_per_key on calls (run_id, path, step, kind, ordinal, abandoned);

-- A checkpoint holds its own root, which no other one needs. Without a body it is an older one, whose root is a node.
create table checkpoints_with_roots (
    checkpoint_id integer primary key,
    run_id        text    not null references runs (run_id),
    seq           integer not null,
    root          text    not null,
    body          blob,
    position      blob    not null,
    seal          text    not null,
    created_at    integer not null
) strict;
insert into checkpoints_with_roots (checkpoint_id, run_id, seq, root, position, seal, created_at)
select checkpoint_id, run_id, seq, root, position, seal, created_at
  from checkpoints
 order by checkpoint_id;
drop table checkpoints;
alter table checkpoints_with_roots rename to checkpoints;
create unique index checkpoints_of_run on checkpoints (run_id, seq);
