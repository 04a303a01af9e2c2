-- What the panel lists. Bodies are read only where one run is shown.

-- count_runs --
-- A child that waits for a person counts as a run of its own; among all runs it stands with its parent.
select count(*) filter (where parent_call_id is null)                  as everything,
       count(*) filter (where state = 'held')                          as held,
       count(*) filter (where state in ('queued', 'running', 'held'))  as unfinished
  from runs

-- count_resumed --
-- Runs of an earlier process that went on in this one without asking a person.
select count(distinct e.run_id) as resumed
  from events e
  join runs r on r.run_id = e.run_id
 where e.boot_id = :boot_id and e.kind = 'run_claimed' and r.boot_id <> :boot_id
   and not exists (select 1 from decisions d where d.run_id = e.run_id)
   and not exists (select 1 from grants g where g.run_id = e.run_id and g.origin <> :by_policy)

-- list_held --
select r.*, null as input_body, null as answer_body
  from runs r
 where r.state = 'held'
   and (r.hold_since, r.run_id) > (:since, :run_id)
 order by r.hold_since, r.run_id
 limit :most

-- list_all --
select r.*, null as input_body, null as answer_body
  from runs r
 where r.parent_call_id is null and (:run_id = '' or r.run_id < :run_id)
 order by r.run_id desc
 limit :most

-- children_of_run --
select r.*, i.body as input_body, a.body as answer_body
  from calls c
  join runs r on r.parent_call_id = c.call_id
  left join blobs i on i.digest = r.input_digest
  left join blobs a on a.digest = r.answer_digest
 where c.run_id = :run_id
 order by r.run_id

-- search_runs --
-- Every run whose name, number, state, chat or steps have these words.
select r.*, null as input_body, null as answer_body
  from runs r
 where r.parent_call_id is null and (:run_id = '' or r.run_id < :run_id)
   and (r.title like :words escape '\' or r.run_id like :words escape '\' or r.state like :words escape '\'
        or r.chat_id in (select value from json_each(:chats))
        or exists (select 1 from calls c where c.run_id = r.run_id and c.name like :words escape '\'))
 order by r.run_id desc
 limit :most

-- lives_of_run --
-- The processes in which something of this run happened, oldest first.
select b.boot_id, b.started_at, b.ended_at, max(e.seq) as last_seq, max(e.at) as last_at,
       min(e.at) filter (where e.kind = 'run_claimed') as claimed_at
  from events e
  join boots b on b.boot_id = e.boot_id
 where e.run_id = :run_id
 group by b.boot_id
 order by min(e.seq)

-- step_of_run --
-- The step that the run is at, or that its hold is about, with its number.
select c.call_id, c.kind, c.name, a.digest as arguments_digest, a.body as arguments_body,
       (select count(*) from calls n where n.run_id = c.run_id and n.seq <= c.seq and substr(n.path, 1, 1) <> '~') as number,
       (select count(*) from calls n where n.run_id = c.run_id and substr(n.path, 1, 1) <> '~')                    as total
  from calls c
  left join blobs a on a.digest = c.arguments_digest
 where c.run_id = :run_id and (:call_id is null or c.call_id = :call_id) and substr(c.path, 1, 1) <> '~'
 order by c.seq desc
 limit 1

-- evidence_of_run --
select e.call_id, e.kind, e.outcome, e.error, e.value_digest, b.body as value_body
  from calls c
  join evidence e on e.call_id = c.call_id
  left join blobs b on b.digest = e.value_digest
 where c.run_id = :run_id
 order by e.seq
 limit :most

-- spent_of_run --
-- What each call of a run took, abandoned and background ones too.
select path, kind, name, outcome, usage, attempts, served, abandoned, started_at, ended_at, boot_id, error
  from calls
 where run_id = :run_id
 order by seq
