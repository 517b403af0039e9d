// kafkajs as a client under compat/run. It only writes: its consumer works in groups, which come in a later release.

import { compress as zstdCompress, init as zstdInit } from '@bokuweb/zstd-wasm'
import kafkajs from 'kafkajs'
import lz4 from 'lz4js'
import snappy from 'snappyjs'

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs
const PARTITIONS = 64
const RECORDS_EACH = 10
const SEQUENCE = 5000
const CODECS = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' }

const writeOnly = (compress) => () => ({
  compress: async (encoder) => Buffer.from(compress(encoder.buffer)),
  decompress: async () => { throw new Error('not used') },
})
CompressionCodecs[CompressionTypes.Snappy] = writeOnly((buffer) => snappy.compress(buffer))
CompressionCodecs[CompressionTypes.LZ4] = writeOnly((buffer) => lz4.compress(buffer))
CompressionCodecs[CompressionTypes.ZSTD] = writeOnly((buffer) => zstdCompress(buffer))

const [verb, bootstrap, prefix] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [bootstrap], clientId: 'compat', logLevel: logLevel.ERROR })

// Headers of kafkajs have no null: the common record's null is empty here.
function records() {
  const big = Buffer.alloc(1_000_000)
  for (let i = 0; i < big.length; i++) big[i] = 97 + (i % 26)
  return [
    { key: 'key-0', value: 'value-0', headers: { h: ['a', 'b'], empty: '', none: '' } },
    { key: null, value: 'no key' },
    { key: 'no value', value: null },
    { key: null, value: null },
    { key: '', value: '' },
    { key: 'big', value: big },
    { key: 'ünïcode', value: '日本 Ω' },
  ].map((record) => ({ ...record, partition: 0 }))
}

async function report(name, action) {
  try {
    await action()
    console.log(`${name}\tok\t`)
  } catch (error) {
    console.log(`${name}\tFAIL\t${String(error).replace(/\s+/g, ' ')}`)
  }
}

async function createTopics() {
  const admin = kafka.admin()
  await admin.connect()
  const topics = Object.keys(CODECS).map((codec) => ({ topic: `${prefix}-${codec}`, numPartitions: 1 }))
  topics.push({ topic: `${prefix}-partitions`, numPartitions: PARTITIONS })
  topics.push({ topic: `${prefix}-idempotent`, numPartitions: 1 })
  await admin.createTopics({ topics, waitForLeaders: true })
  const listed = await admin.listTopics()
  const missing = topics.filter(({ topic }) => !listed.includes(topic))
  await admin.disconnect()
  if (missing.length) throw new Error(`missing: ${JSON.stringify(missing)}`)
}

async function produce(topic, messages, options = {}, codec = 'none') {
  const producer = kafka.producer({ allowAutoTopicCreation: false, ...options })
  await producer.connect()
  try {
    const compression = CompressionTypes[CODECS[codec]]
    await producer.send({ topic: `${prefix}-${topic}`, acks: -1, compression, messages })
  } finally {
    await producer.disconnect()
  }
}

async function write() {
  await zstdInit()
  await report('topics', createTopics)
  for (const codec of Object.keys(CODECS)) {
    // One record in a batch, so that the big one stays below the broker's limit without compression.
    await report(codec, async () => {
      for (const record of records()) await produce(codec, [record], {}, codec)
    })
  }
  const spread = Array.from({ length: PARTITIONS }, (_, partition) =>
    Array.from({ length: RECORDS_EACH }, (_, i) => ({ partition, value: `${partition}-${i}` })))
  await report('partitions', () => produce('partitions', spread.flat()))
  const all = Array.from({ length: SEQUENCE }, (_, i) => ({ partition: 0, value: String(i) }))
  await report('idempotent', () => produce('idempotent', all, { idempotent: true, maxInFlightRequests: 1 }))
}

if (verb !== 'write') throw new Error('kafkajs only writes here')
await write()
