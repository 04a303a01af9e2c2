-- The store's own bookkeeping.

-- mark_batch --
update batches
   set number = :number
 where one = 1

-- batch_number --
select number
  from batches
 where one = 1
