// kafkajs under the suite transactions: `write BOOTSTRAP TOPIC`, see compat/clients/python/txn_spec.py.

import { patient, report } from './common.mjs'

const PARTITIONS = 3
const RECORDS = 10
const LATE_TIMEOUT_MS = 4_000
const LATE_MS = 15_000

const [, bootstrap, topic] = process.argv.slice(2)
const kafka = patient(bootstrap)

async function instance(name = 'id', transactionTimeout = 60_000) {
  const producer = kafka.producer({ transactionalId: `${topic}-${name}`, transactionTimeout, idempotent: true,
    maxInFlightRequests: 1, createPartitioner: () => ({ message }) => message.partition })
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

async function outlive() {
  const late = await instance('late', LATE_TIMEOUT_MS)
  const transaction = await late.transaction()
  await send(transaction, 'late')
  await new Promise(resolve => setTimeout(resolve, LATE_MS))
  let refused
  try {
    await transaction.commit()
  } catch (error) {
    refused = error.type ?? error.name
  }
  if (!refused) throw new Error('it committed after its time')
  const next = await instance('late', LATE_TIMEOUT_MS)
  await commit(next, 'in-time')
  await next.disconnect()
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
await report('timeout', outlive)
await producer.disconnect()
process.exit(0)
