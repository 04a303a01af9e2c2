-- What is kept and what goes: finished runs, superseded checkpoints, bodies that nothing names.

-- tombstone --
-- `state` is how the run ended that had the message.
select *
  from tombstones
 where chat_id = :chat_id and input_id = :input_id

-- finished_roots --
-- Every finished root run, with what keeps it. A chat's newest run is its head.
select r.run_id, r.changed_at as ended_at,
       (select max(n.run_id) from runs n where n.chat_id = r.chat_id and n.parent_call_id is null) as head,
       exists (select 1 from inputs i where i.run_id = r.run_id and i.state in ('waiting', 'offered')) as has_messages,
       exists (select 1 from documents d join conflicts c on c.document_id = d.document_id
                where d.chat_id = r.chat_id and c.state = 'open') as in_conflict
  from runs r
 where r.parent_call_id is null and r.state in ('completed', 'failed', 'stopped')

-- finished_root --
-- The same of one run.
select r.run_id, r.changed_at as ended_at,
       (select max(n.run_id) from runs n where n.chat_id = r.chat_id and n.parent_call_id is null) as head,
       exists (select 1 from inputs i where i.run_id = r.run_id and i.state in ('waiting', 'offered')) as has_messages,
       exists (select 1 from documents d join conflicts c on c.document_id = d.document_id
                where d.chat_id = r.chat_id and c.state = 'open') as in_conflict
  from runs r
 where r.run_id = :run_id and r.parent_call_id is null and r.state in ('completed', 'failed', 'stopped')

-- family --
-- A run and everything that was started from it, the deepest first.
with recursive family (run_id, state, depth) as (
    select run_id, state, 0
      from runs
     where run_id = :run_id
     union all
    select r.run_id, r.state, f.depth + 1
      from family f
      join calls c on c.run_id = f.run_id
      join runs r on r.parent_call_id = c.call_id
)
select f.run_id, f.state, f.depth,
       exists (select 1 from inputs i where i.run_id = f.run_id and i.state in ('waiting', 'offered')) as has_messages
  from family f
 order by f.depth desc

-- drop_selections --
delete from restore_selections
 where rowid in (select rowid from restore_selections where run_id = :run_id limit :most)

-- drop_decisions --
delete from decisions
 where rowid in (select rowid from decisions where run_id = :run_id limit :most)

-- drop_grants --
delete from grants
 where rowid in (select rowid from grants where run_id = :run_id limit :most)

-- drop_evidence --
delete from evidence
 where rowid in (select e.rowid from calls c join evidence e on e.call_id = c.call_id where c.run_id = :run_id limit :most)

-- drop_attempts --
delete from attempts
 where rowid in (select a.rowid from calls c join attempts a on a.call_id = c.call_id where c.run_id = :run_id limit :most)

-- drop_events --
delete from events
 where run_id = :run_id and seq in (select seq from events where run_id = :run_id limit :most)

-- drop_checkpoints --
delete from checkpoints
 where seq in (select c.seq from events e join checkpoints c on c.seq = e.seq where e.run_id = :run_id limit :most)

-- forget_hold --
update runs
   set hold_call_id = null
 where run_id = :run_id and hold_call_id is not null

-- drop_calls --
delete from calls
 where rowid in (select rowid from calls where run_id = :run_id limit :most)

-- bury_messages --
insert into tombstones (chat_id, input_id, kind, digest, run_id, state, created_at, ended_at, removed_at)
select i.chat_id, i.input_id, 'message', i.digest, i.run_id, r.state, i.created_at, r.changed_at, :now
  from inputs i
  join runs r on r.run_id = i.run_id
 where i.run_id = :run_id
    on conflict (chat_id, input_id) do nothing

-- drop_messages --
delete from inputs
 where run_id = :run_id

-- bury_run --
insert into tombstones (chat_id, input_id, kind, digest, run_id, state, created_at, ended_at, removed_at)
select chat_id, input_id, 'run', input_digest, run_id, state, created_at, changed_at, :now
  from runs
 where run_id = :run_id and parent_call_id is null
    on conflict (chat_id, input_id) do update
   set kind = excluded.kind, digest = excluded.digest, run_id = excluded.run_id, state = excluded.state,
       created_at = excluded.created_at, ended_at = excluded.ended_at, removed_at = excluded.removed_at

-- drop_run --
delete from runs
 where run_id = :run_id

-- many_checkpoints --
-- Runs with more checkpoints than are kept: the newest of a finished run, a few of an unfinished one. Of a run whose
-- state cannot be read every one is kept (KEEPS_ALL in retention.py): an older one may be all that is left.
select c.run_id, count(*) - case when r.state in ('completed', 'failed', 'stopped') then 1 else :keep_unfinished end as extra
  from checkpoints c
  join runs r on r.run_id = c.run_id
 where coalesce(r.hold_reason, '') not in ('checkpoint_corrupt', 'restored')
 group by c.run_id
having extra > 0

-- drop_old_checkpoints --
delete from checkpoints
 where seq in (select c.seq
                 from events e
                 join checkpoints c on c.seq = e.seq
                where e.run_id = :run_id
                  and c.seq not in (select n.seq from events m join checkpoints n on n.seq = m.seq
                                     where m.run_id = :run_id order by m.seq desc limit :keep)
                  and c.seq not in (select checkpoint_seq from restore_selections where checkpoint_seq is not null)
                limit :most)

-- kept_roots --
-- The resume points that there are; for a plan without those of runs that would go (a JSON list) and superseded ones.
select root, body
  from (select c.root, c.body, c.seq, c.run_id, r.state, r.hold_reason,
               row_number() over (partition by c.run_id order by c.seq desc) as age
          from checkpoints c
          join runs r on r.run_id = c.run_id)
 where run_id not in (select value from json_each(:gone))
   and (not :planned
        or age <= case when state in ('completed', 'failed', 'stopped') then 1 else :keep_unfinished end
        or coalesce(hold_reason, '') in ('checkpoint_corrupt', 'restored')
        or seq in (select checkpoint_seq from restore_selections where checkpoint_seq is not null))

-- unnamed_bodies --
-- Bodies that no record names; of parts of saved states only these (a JSON list), to which no state leads.
-- Every column that refers to a body stands here; a test compares with the schema.
select blob_id, digest, is_node, length(body) as size, substr(body, 1, 6) = x'0066696c653a' as is_file
  from blobs
 where blob_id <= :newest
   and (is_node = 0 or digest in (select value from json_each(:unreached)))
   and digest not in (
       select input_digest     from runs      where run_id not in (select value from json_each(:gone))
        union all
       select answer_digest    from runs      where run_id not in (select value from json_each(:gone)) and answer_digest is not null
        union all
       select digest           from inputs    where run_id not in (select value from json_each(:gone))
        union all
       select arguments_digest from calls     where run_id not in (select value from json_each(:gone))
        union all
       select extra_digest     from calls     where run_id not in (select value from json_each(:gone)) and extra_digest is not null
        union all
       select value_digest     from calls     where run_id not in (select value from json_each(:gone)) and value_digest is not null
        union all
       select result_extra     from calls     where run_id not in (select value from json_each(:gone)) and result_extra is not null
        union all
       select e.value_digest   from evidence e join calls c on c.call_id = e.call_id
        where c.run_id not in (select value from json_each(:gone)) and e.value_digest is not null
        union all
       select body_digest      from documents
        union all
       select body_digest      from conflicts
       )
 order by blob_id

-- some_nodes --
select blob_id, digest
  from blobs
 where is_node = 1 and blob_id > :after and blob_id <= :newest
 order by blob_id
 limit :most

-- newest_body --
select coalesce(max(blob_id), 0) as newest
  from blobs

-- drop_body --
delete from blobs
 where blob_id = :id and digest = :digest

-- body_is_named --
select 1 as named
  from blobs
 where digest = :digest

-- free_pages --
select freelist_count as free
  from pragma_freelist_count

-- release_pages --
pragma incremental_vacuum(64)
