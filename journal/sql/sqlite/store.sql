-- The store's own bookkeeping.

-- mark_batch --
-- No row means that the file is not in the state in which this process left it.
update batches
   set number = :number, place = :place, heads = max(heads, :heads)
 where one = 1 and number = :before
returning generation

-- batch_number --
select number, place
  from batches
 where one = 1

-- identity --
select number, journal_id, generation, heads
  from batches
 where one = 1

-- name_journal --
update batches
   set journal_id = :opening
 where one = 1 and journal_id = ''

-- add_opening --
insert into openings (opening, first_batch)
values (:opening, :first_batch)
    on conflict (opening) do nothing

-- opening --
-- When it began to write, and when the one after it did.
select o.first_batch,
       (select min(n.first_batch) from openings n where n.first_batch > o.first_batch) as next_batch
  from openings o
 where o.opening = :opening

-- begin_generation --
update batches
   set generation = :generation
 where one = 1 and generation = :generation - 1

-- add_generation --
insert into generations (generation, began_at, reason, facts)
values (:generation, :now, :reason, :facts)

-- count_bodies --
select (select count(*) from blobs)       as blobs,
       (select count(*) from checkpoints) as checkpoints

-- blobs_after --
select blob_id as id, digest, body, is_node
  from blobs
 where blob_id > :after
 order by blob_id
 limit :most

-- checkpoints_after --
select seq as id, run_id, seq, root, body, position, seal
  from checkpoints
 where seq > :after
 order by seq
 limit :most

-- generations --
select generation, began_at, reason, facts
  from generations
 order by generation
