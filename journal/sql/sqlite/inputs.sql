-- Messages that came while their chat had an unfinished run.

-- add_input --
insert into inputs (chat_id, input_id, run_id, digest, state, created_at, changed_at, seq)
values (:chat_id, :input_id, :run_id, :digest, 'waiting', :now, :now, :seq)

-- input --
select n.*, b.body
  from inputs n
  left join blobs b on b.digest = n.digest
 where n.chat_id = :chat_id and n.input_id = :input_id

-- waiting_inputs --
select n.*, b.body
  from inputs n
  left join blobs b on b.digest = n.digest
 where n.chat_id = :chat_id and n.state = 'waiting'
 order by n.seq

-- all_waiting_inputs --
select n.*, b.body
  from inputs n
  left join blobs b on b.digest = n.digest
 where n.state = 'waiting'
 order by n.chat_id, n.seq

-- inputs_of_run --
select n.*, b.body
  from inputs n
  left join blobs b on b.digest = n.digest
 where n.run_id = :run_id
 order by n.seq

-- deliver_input --
update inputs
   set state = 'delivered', changed_at = :now
 where chat_id = :chat_id and input_id = :input_id and state in ('waiting', 'offered')

-- offer_late_inputs --
-- What waits in a chat without an unfinished run would be sent at the next start; it may have been sent already.
update inputs
   set state = 'offered', changed_at = :now
 where state = 'waiting'
   and not exists (select 1 from runs r
                    where r.run_id = inputs.run_id and r.state in ('queued', 'running', 'held'))

-- offer_inputs --
-- After a Stop nothing is sent by itself. What waits for the chat's own run is not that of a job beside it.
update inputs
   set state = 'offered', changed_at = :now
 where chat_id = :chat_id and state = 'waiting'
   and not exists (select 1 from runs r
                    where r.chat_id = :chat_id and r.parent_call_id is null and r.state in ('queued', 'running', 'held'))

-- chat_of_input --
-- Without the chat there is no index for it: rare enough, and retention bounds the runs.
select chat_id
  from runs
 where input_id = :input_id and parent_call_id is null
 union all
select chat_id
  from inputs
 where input_id = :input_id
 union all
select chat_id
  from tombstones
 where input_id = :input_id
 limit 1

-- take_up_input --
-- A message that a Stop left over is sent by a person, to another run.
update inputs
   set state = 'waiting', run_id = :run_id, seq = :seq, changed_at = :now
 where chat_id = :chat_id and input_id = :input_id and state = 'offered'

-- discard_input --
update inputs
   set state = 'discarded', changed_at = :now
 where chat_id = :chat_id and input_id = :input_id and state = 'offered'

-- withdraw_input --
-- Only what nobody has been told of but the one who heard that it was refused.
delete from inputs
 where chat_id = :chat_id and input_id = :input_id and run_id = :run_id and state = 'waiting'

-- free_message --
-- The id of a message is free again; the record of its run stays.
update runs
   set input_id = input_id || ' ' || run_id
 where run_id = :run_id

-- offer_again --
update inputs
   set state = 'offered', changed_at = :now
 where chat_id = :chat_id and input_id = :input_id and state = 'delivered'
