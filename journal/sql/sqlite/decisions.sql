-- What persons decided and allowed.

-- add_decision --
insert into decisions (request_id, run_id, call_id, choice, shown_digest, note, ack, origin, request, hold_since,
                       version, seq, at)
values (:request_id, :run_id, :call_id, :choice, :shown_digest, :note, :ack, :origin, :request, :hold_since,
        :version, :seq, :now)

-- add_grant --
insert into grants (request_id, run_id, call_id, attempts, origin, request, version, seq, at)
values (:request_id, :run_id, :call_id, :attempts, :origin, :request, :version, :seq, :now)

-- request --
select request
  from decisions
 where request_id = :request_id
 union all
select request
  from grants
 where request_id = :request_id
 union all
select run_id || ':' || coalesce(checkpoint_seq, 'now') || ':' || note as request
  from restore_selections
 where request_id = :request_id

-- own_decisions --
-- Decisions of one origin about calls of one hold, made after a version that a form shows.
select call_id, version
  from decisions
 where run_id = :run_id and origin = :origin and version > :version and hold_since = :since and call_id is not null

-- recorded_of_run --
select seq, at, choice as id, call_id, note, origin, null as attempts
  from decisions
 where run_id = :run_id
 union all
select seq, at, 'grant' as id, call_id, '' as note, origin, attempts
  from grants
 where run_id = :run_id
 union all
select seq, at, 'restore' as id, null as call_id, note, origin, null as attempts
  from restore_selections
 where run_id = :run_id
 order by seq

-- add_selection --
insert into restore_selections (selection_id, run_id, checkpoint_seq, request_id, note, origin, seq, at)
values (:selection_id, :run_id, :checkpoint_seq, :request_id, :note, :origin, :seq, :now)

-- newest_selection --
select selection_id, checkpoint_seq, seq
  from restore_selections
 where run_id = :run_id
 order by seq desc
 limit 1

-- waiting_selection --
-- Chosen, and the chat was not brought there yet.
select s.selection_id
  from restore_selections s
 where s.run_id = :run_id and s.checkpoint_seq is not null
   and not exists (select 1 from events e where e.run_id = s.run_id and e.kind = 'state_restored' and e.seq > s.seq)
 order by s.seq desc
 limit 1
