-- Runs, their chats, the history of events, checkpoints.

-- add_chat --
insert into chats (chat_id, created_at)
values (:chat_id, :now)
    on conflict (chat_id) do nothing

-- add_run --
insert into runs (run_id, chat_id, parent_call_id, input_id, input_digest, title, state, version, token, mode,
                  created_at, changed_at, boot_id)
values (:run_id, :chat_id, :parent_call_id, :input_id, :input_digest, :title, 'running', 1, :token, :mode,
        :now, :now, :boot_id)

-- run --
select r.*, i.body as input_body, a.body as answer_body
  from runs r
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where r.run_id = :run_id

-- run_of_message --
select r.*, i.body as input_body, a.body as answer_body
  from runs r
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where r.chat_id = :chat_id and r.input_id = :input_id and r.parent_call_id is null

-- unfinished_run_of_chat --
select r.*, i.body as input_body, null as answer_body
  from runs r
  left join blobs i on i.digest = r.input_digest
 where r.chat_id = :chat_id and r.parent_call_id is null and r.state in ('queued', 'running', 'held')

-- unfinished_runs --
-- Those of chats and those that other runs started: each kind has its own index.
select r.*, i.body as input_body, null as answer_body
  from runs r
  left join blobs i on i.digest = r.input_digest
 where r.run_id in (select run_id from runs where parent_call_id is null and state in ('queued', 'running', 'held')
                     union all
                    select run_id from runs where parent_call_id is not null and state in ('queued', 'running', 'held'))
 order by r.run_id

-- runs_of_chat --
select r.*, i.body as input_body, a.body as answer_body
  from runs r
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where r.chat_id = :chat_id
 order by r.run_id

-- children_of_call --
select r.*, i.body as input_body, a.body as answer_body
  from runs r
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where r.parent_call_id = :call_id

-- children_of_chat --
-- What any run of this chat started, the newest first.
select r.*, i.body as input_body, a.body as answer_body
  from runs p
  join calls c on c.run_id = p.run_id
  join runs r on r.parent_call_id = c.call_id
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where p.chat_id = :chat_id
 order by r.run_id desc

-- unfinished_below --
-- Everything that this run started, and what that started, and has not ended: the deepest first.
with recursive below (run_id, state, depth) as (
    select r.run_id, r.state, 1
      from calls c
      join runs r on r.parent_call_id = c.call_id
     where c.run_id = :run_id
     union all
    select r.run_id, r.state, b.depth + 1
      from below b
      join calls c on c.run_id = b.run_id
      join runs r on r.parent_call_id = c.call_id
)
select run_id
  from below
 where state in ('queued', 'running', 'held')
 order by depth desc, run_id

-- unfinished_of_abandoned --
select r.run_id
  from calls c
  join runs r on r.parent_call_id = c.call_id
 where c.run_id = :run_id and c.abandoned <> 0 and r.state in ('queued', 'running', 'held')

-- root_of --
-- The run at the top, and the call of it that everything down to this one came from.
with recursive up (run_id, parent_call_id, below) as (
    select run_id, parent_call_id, parent_call_id
      from runs
     where run_id = :run_id
     union all
    select p.run_id, p.parent_call_id, c.call_id
      from up u
      join calls c on c.call_id = u.parent_call_id
      join runs p on p.run_id = c.run_id
)
select r.run_id, r.chat_id, r.title, r.state, u.below as call_id
  from up u
  join runs r on r.run_id = u.run_id
 where u.parent_call_id is null

-- ended_in_last_boot --
-- A child without a checkpoint has no chat of its own.
select r.*, i.body as input_body, a.body as answer_body
  from runs r
  join events e on e.run_id = r.run_id and e.kind in ('run_completed', 'run_failed')
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where e.boot_id = (select l.boot_id
                      from events l
                     where l.kind in ('run_completed', 'run_failed') and l.boot_id <> :boot_id
                     order by l.seq desc
                     limit 1)
   and not exists (select 1 from runs n where n.chat_id = r.chat_id and n.run_id > r.run_id and n.parent_call_id is null)
   and (r.parent_call_id is null or r.checkpoint_seq > 0)
 order by r.run_id

-- stops_untold --
-- Runs that a person ended, and whose chat was not told before the process ended.
select r.*, i.body as input_body, a.body as answer_body
  from (select run_id from decisions where choice = 'stop'
         union
        select run_id from restore_selections) d
  join runs r on r.run_id = d.run_id and r.state = 'stopped' and r.parent_call_id is null
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where not exists (select 1 from events e where e.run_id = r.run_id and e.kind = 'completion_ended')
   and not exists (select 1 from runs n where n.chat_id = r.chat_id and n.run_id > r.run_id and n.parent_call_id is null)
 order by r.run_id

-- newest_ids --
select max(run_id) as id
  from runs
 union all
select max(call_id)
  from calls
 union all
select max(boot_id)
  from boots

-- peek_unfinished --
-- Only columns that every edition has: other versions look through this. A child's own chat is closed, too.
select run_id, chat_id, state
  from runs
 where run_id in (select run_id from runs where parent_call_id is null and state in ('queued', 'running', 'held')
                   union all
                  select run_id from runs where parent_call_id is not null and state in ('queued', 'running', 'held'))
 order by parent_call_id is null, run_id

-- move_run --
-- One guarded move. Zero rows means that the caller looked at an older version. `changed_at` is when the state changed.
update runs
   set state         = :state,
       version       = version + 1,
       token         = :token,
       recoveries    = :recoveries,
       answer_digest = coalesce(:answer_digest, answer_digest),
       hold_reason   = :hold_reason,
       hold_call_id  = :hold_call_id,
       hold_text     = :hold_text,
       hold_facts    = :hold_facts,
       hold_since    = :hold_since,
       changed_at    = case when state = :state then changed_at else :now end
 where run_id = :run_id and state = :old_state and version = :old_version

-- clear_recoveries --
update runs
   set recoveries = 0
 where run_id = :run_id and recoveries > 0

-- count_recoveries --
-- Not a move: what a person is shown of the run stays the same.
update runs
   set recoveries = :recoveries
 where run_id = :run_id and state in ('queued', 'running', 'held')

-- attempts_of_run --
-- What shows when this run was in hand, in which process, and how far it got.
select e.seq, e.kind, e.call_id, e.boot_id, b.facts
  from events e
  join boots b on b.boot_id = e.boot_id
 where e.run_id = :run_id
   and e.kind in ('recovery_begun', 'recovery_ended', 'run_queued', 'run_held', 'run_claimed', 'run_released',
                  'call_begun', 'call_begun_again', 'call_served')
 order by e.seq

-- completions_of_run --
select count(*) filter (where kind = 'completion_begun') as begun,
       count(*) filter (where kind = 'completion_ended') as ended
  from events
 where run_id = :run_id and kind in ('completion_begun', 'completion_ended')

-- boot_after --
select facts
  from boots
 where rowid > (select rowid from boots where boot_id = :boot_id)
 order by rowid
 limit 1

-- boot_before --
select started_at, ended_at
  from boots
 where rowid < (select rowid from boots where boot_id = :boot_id)
 order by rowid desc
 limit 1

-- newest_boot --
select boot_id
  from boots
 order by rowid desc
 limit 1

-- note_checkpoint --
-- Fenced, too: no checkpoint of a run that does not run, or under an old token.
update runs
   set checkpoint_seq = :seq
 where run_id = :run_id and state = 'running' and token = :token

-- choose_checkpoint --
-- A person chose the state of a held run.
update runs
   set checkpoint_seq = :seq
 where run_id = :run_id

-- run_fence --
select state, token, recoveries, chat_id, hold_reason
  from runs
 where run_id = :run_id

-- mode_of_run --
select mode
  from runs
 where run_id = :run_id

-- last_move_of_run --
select kind
  from events
 where run_id = :run_id
   and kind in ('run_admitted', 'run_queued', 'run_held', 'run_claimed', 'run_released')
 order by seq desc
 limit 1

-- add_event --
insert into events (run_id, seq, at, kind, call_id, version, boot_id, facts)
values (:run_id, :seq, :at, :kind, :call_id, :version, :boot_id, :facts)

-- add_notice --
insert into notices (seq, at, kind, boot_id, facts)
values (:seq, :at, :kind, :boot_id, :facts)

-- head --
select place as seq
  from batches
 where one = 1

-- events_of_run --
select seq, at, kind, call_id, version, facts
  from events
 where run_id = :run_id
 order by seq

-- add_blob --
-- Bytes that were damaged since are no reason to lose this result: what is known to be right takes their place.
-- A stub stays: its file was compared before.
insert into blobs (digest, body)
values (:digest, :body)
    on conflict (digest) do update
   set body = excluded.body
 where body is not excluded.body and substr(body, 1, 6) <> x'0066696C653A'

-- add_node --
-- The same of a part of a saved state. What was stored as a value only becomes such a part as well.
insert into blobs (digest, body, is_node)
values (:digest, :body, 1)
    on conflict (digest) do update
   set is_node = 1,
       body    = case when substr(body, 1, 6) = x'0066696C653A' then body else excluded.body end
 where is_node = 0 or (body is not excluded.body and substr(body, 1, 6) <> x'0066696C653A')

-- has_node --
select blob_id
  from blobs
 where digest = :digest and is_node = 1

-- node --
select body
  from blobs
 where digest = :digest and is_node = 1

-- nodes --
select n.digest, n.body
  from json_each(:digests) d
 cross join blobs n on n.digest = d.value and n.is_node = 1

-- add_checkpoint --
insert into checkpoints (run_id, seq, root, body, position, seal, created_at)
values (:run_id, :seq, :root, :body, :position, :seal, :now)

-- root_of_run --
select c.body
  from events e
  join checkpoints c on c.seq = e.seq
 where e.run_id = :run_id and c.root = :root and c.body is not null
 limit 1

-- newest_checkpoint --
select c.seq, c.root, c.body, c.position, c.seal
  from runs r
  join checkpoints c on c.seq = r.checkpoint_seq
 where r.run_id = :run_id

-- checkpoints_of_run --
-- Each has an event at its place, and events lie by their run.
select c.seq, c.root, c.body, c.position, c.seal, c.created_at
  from events e
  join checkpoints c on c.seq = e.seq
 where e.run_id = :run_id
 order by e.seq desc
 limit :most

-- add_boot --
insert into boots (boot_id, started_at, facts)
values (:boot_id, :now, :facts)

-- end_boot --
update boots
   set ended_at = :now
 where boot_id = :boot_id
