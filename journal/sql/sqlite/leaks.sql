-- Who holds what is stored, to name the runs with a secret that became known later. The bodies are read as a verification reads them.

-- runs_with_blob --
-- A document is a chat's: its newest run stands for it.
select r.run_id
  from runs r
 where r.input_digest = :digest or r.answer_digest = :digest
 union
select i.run_id
  from inputs i
 where i.digest = :digest
 union
select c.run_id
  from calls c
 where :digest in (c.arguments_digest, c.extra_digest, c.value_digest, c.result_extra)
 union
select c.run_id
  from evidence e
  join calls c on c.call_id = e.call_id
 where e.value_digest = :digest
 union
select r.run_id
  from documents d
  join runs r on r.run_id = (select max(n.run_id) from runs n where n.chat_id = d.chat_id)
 where d.body_digest = :digest
    or exists (select 1 from conflicts c where c.document_id = d.document_id and c.body_digest = :digest)

-- texts_of_runs --
select run_id, title as text, hold_facts as body
  from runs
 union all
select run_id, hold_text as text, mode as body
  from runs
 union all
select run_id, error as text, usage as body
  from calls
 union all
select run_id, note as text, null as body
  from decisions
 union all
select run_id, origin as text, null as body
  from decisions
 union all
select run_id, origin as text, null as body
  from grants
 union all
select c.run_id, e.error as text, e.facts as body
  from evidence e
  join calls c on c.call_id = e.call_id
 union all
select run_id, '' as text, facts as body
  from events
 where facts is not null
