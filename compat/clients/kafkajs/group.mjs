// A kafkajs consumer for the suite groups: BOOTSTRAP TOPIC GROUP PROTOCOL. It knows one assignor, its own.

import { patient } from './common.mjs'

const COMMIT_EVERY = 50

const [bootstrap, topic, groupId] = process.argv.slice(2)
const consumer = patient(bootstrap).consumer({ groupId, sessionTimeout: Number(process.env.SESSION_MS), heartbeatInterval: 500 })

await consumer.connect()
await consumer.subscribe({ topics: [topic], fromBeginning: true })
const positions = new Map()
let uncommitted = 0

consumer.on(consumer.events.GROUP_JOIN, () => positions.clear())
process.on('SIGTERM', () => consumer.disconnect().then(() => process.exit(0)))

await consumer.run({
  autoCommit: false,
  eachBatchAutoResolve: false,
  eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
    for (const message of batch.messages) {
      if (!isRunning() || isStale()) break
      console.log(`processed ${batch.partition} ${message.offset}`)
      resolveOffset(message.offset)
      positions.set(batch.partition, Number(message.offset) + 1)
      uncommitted += 1
    }
    await heartbeat()
    if (uncommitted < COMMIT_EVERY) return
    uncommitted = 0
    const offsets = [...positions].map(([partition, offset]) => ({ topic, partition, offset: String(offset) }))
    await consumer.commitOffsets(offsets)
    for (const { partition, offset } of offsets) console.log(`committed ${partition} ${offset}`)
  },
})
