-- Calls, their attempts, results, and what is kept beside them.

-- add_call --
insert into calls (call_id, run_id, path, step, kind, ordinal, name, identity, arguments_digest, extra_digest, lossy,
                   policy, source_digest, attempts, token, boot_id, started_at, seq)
values (:call_id, :run_id, :path, :step, :kind, :ordinal, :name, :identity, :arguments_digest, :extra_digest, :lossy,
        :policy, :source_digest, :attempts, :token, :boot_id, :now, :seq)

-- call --
select c.*, a.body as arguments_body, x.body as extra_body, v.body as value_body, y.body as result_extra_body,
       (select count(*) from evidence e where e.call_id = c.call_id and e.kind = 'late_result') as late_results
  from calls c
  left join blobs a on a.digest = c.arguments_digest
  left join blobs x on x.digest = c.extra_digest
  left join blobs v on v.digest = c.value_digest
  left join blobs y on y.digest = c.result_extra
 where c.call_id = :call_id

-- call_at_key --
-- Almost always there is none: asked for one column, that costs least.
select call_id
  from calls
 where run_id = :run_id and path = :path and step = :step and kind = :kind and ordinal = :ordinal and abandoned = 0

-- calls_of_run --
-- The steps of a run. What it asked in the background has a key space of its own, that begins with ~.
select c.*, a.body as arguments_body, x.body as extra_body, v.body as value_body, y.body as result_extra_body,
       (select count(*) from evidence e where e.call_id = c.call_id and e.kind = 'late_result') as late_results
  from calls c
  left join blobs a on a.digest = c.arguments_digest
  left join blobs x on x.digest = c.extra_digest
  left join blobs v on v.digest = c.value_digest
  left join blobs y on y.digest = c.result_extra
 where c.run_id = :run_id and substr(c.path, 1, 1) <> '~'
 order by c.seq

-- open_calls_of_run --
select c.*, a.body as arguments_body, x.body as extra_body, null as value_body, null as result_extra_body,
       (select count(*) from evidence e where e.call_id = c.call_id and e.kind = 'late_result') as late_results
  from calls c
  left join blobs a on a.digest = c.arguments_digest
  left join blobs x on x.digest = c.extra_digest
 where c.run_id = :run_id and c.outcome is null and c.abandoned = 0 and substr(c.path, 1, 1) <> '~'
 order by c.seq

-- cut_off_background --
select c.*, a.body as arguments_body, x.body as extra_body, null as value_body, null as result_extra_body, 0 as late_results
  from calls c
  left join blobs a on a.digest = c.arguments_digest
  left join blobs x on x.digest = c.extra_digest
 where c.run_id = :run_id and c.outcome is null and c.abandoned = 0 and substr(c.path, 1, 1) = '~' and c.boot_id <> :boot_id
 order by c.seq

-- model_call_of --
-- The model call whose answer asked for a tool call, without its bodies.
select seq, value_lossy
  from calls
 where run_id = :run_id and path = :path and step = :step and kind = 'model' and ordinal = 0 and abandoned = 0

-- keep_attempt --
-- The first attempt stands in its call until there is a second one.
insert into attempts (call_id, number, reason, token, seq, boot_id, started_at)
select call_id, attempts, 'first', token, seq, boot_id, started_at
  from calls
 where call_id = :call_id and attempts = 1
    on conflict (call_id, number) do nothing

-- add_attempt --
insert into attempts (call_id, number, reason, token, seq, boot_id, started_at)
values (:call_id, :number, :reason, :token, :seq, :boot_id, :now)

-- begin_again --
-- The permission is used up in the same statement that counts the attempt.
update calls
   set attempts    = attempts + 1,
       allowance   = allowance - :used,
       token       = :token,
       boot_id     = :boot_id,
       started_at  = :now
 where call_id = :call_id and outcome is null and abandoned = 0
   and attempts = :attempts and allowance = :allowance

-- finish_call --
-- The first result wins: an outcome is written once, for the attempt that it belongs to. With :living only while its run
-- still runs under the token that the call began under.
update calls
   set outcome       = :outcome,
       value_digest  = :value_digest,
       value_lossy   = :value_lossy,
       result_digest = :result_digest,
       result_extra  = :result_extra,
       error         = :error,
       usage         = :usage,
       origin        = :origin,
       ended_at      = :now,
       allowance     = 0
 where call_id = :call_id and outcome is null and abandoned = 0 and attempts = :attempts and token = :token
   and (:living = 0
        or exists (select 1 from runs r where r.run_id = calls.run_id and r.state = 'running' and r.token = calls.token))

-- reopen_call --
update calls
   set outcome       = null,
       value_digest  = null,
       value_lossy   = 0,
       result_digest = null,
       result_extra  = null,
       error         = '',
       usage         = null,
       ended_at      = null
 where call_id = :call_id and result_digest = :result_digest

-- allow_call --
update calls
   set allowance = :allowance
 where call_id = :call_id and outcome is null and abandoned = 0 and attempts = :attempts and allowance = 0

-- revoke_allowances --
-- A permission of a state that was put back may have been used up in what came after.
update calls
   set allowance = 0
 where allowance > 0 and outcome is null and abandoned = 0

-- count_served --
update calls
   set served = served + 1
 where call_id = :call_id

-- abandon_calls --
update calls
   set abandoned = seq
 where run_id = :run_id and seq >= :seq and abandoned = 0

-- abandon_call --
update calls
   set abandoned = seq
 where call_id = :call_id

-- add_evidence --
insert into evidence (call_id, kind, outcome, value_digest, result_digest, error, seq, at)
values (:call_id, :kind, :outcome, :value_digest, :result_digest, :error, :seq, :now)
    on conflict (call_id, kind, result_digest) do nothing
