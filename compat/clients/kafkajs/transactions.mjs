// kafkajs under compat/transactions: `write BOOTSTRAP TOPIC`, see compat/clients/python/txn_spec.py.

import { patient, report } from './common.mjs'

const PARTITIONS = 3
const RECORDS = 10

const [, bootstrap, topic] = process.argv.slice(2)
const kafka = patient(bootstrap)

async function instance() {
  const producer = kafka.producer({ transactionalId: `${topic}-id`, idempotent: true, maxInFlightRequests: 1,
    createPartitioner: () => ({ message }) => message.partition })
  await producer.connect()
  return producer
}

const send = (transaction, phase) => transaction.send({ topic, acks: -1,
  messages: Array.from({ length: RECORDS }, (_, n) => ({ value: `${phase}-${n}`, partition: n % PARTITIONS })) })

async function commit(producer, ...phases) {
  for (const phase of phases) {
    const transaction = await producer.transaction()
    await send(transaction, phase)
    await transaction.commit()
  }
}

async function withOffset(producer, phase, offset) {
  const transaction = await producer.transaction()
  await send(transaction, phase)
  await transaction.sendOffsets({ consumerGroupId: `${topic}-group`,
    topics: [{ topic: `${topic}-in`, partitions: [{ partition: 0, offset: String(offset) }] }] })
  return transaction
}

async function fence(first) {
  const transaction = await first.transaction()
  await send(transaction, 'zombie')
  const second = await instance()
  await commit(second, 'heir')
  let refused
  try {
    await transaction.commit()
  } catch (error) {
    refused = error.type ?? error.name
  }
  await second.disconnect()
  if (!refused) throw new Error('the first instance committed')
  return refused
}

const producer = await instance()
await report('two in a row', () => commit(producer, 'first', 'second'))
await report('abort', async () => {
  const transaction = await producer.transaction()
  await send(transaction, 'aborted')
  await transaction.abort()
  await commit(producer, 'after')
})
await report('offsets', async () => {
  await (await withOffset(producer, 'offsets', 5)).commit()
  await (await withOffset(producer, 'no-offsets', 8)).abort()
})
await report('fencing', () => fence(producer))
await producer.disconnect()
process.exit(0)
