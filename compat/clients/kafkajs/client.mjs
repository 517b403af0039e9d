// kafkajs as a client under compat/run: BOOTSTRAP PREFIX behind `write` or `check`. Its consumer reads in a group of its own.

import { compress as zstdCompress, decompress as zstdDecompress, init as zstdInit } from '@bokuweb/zstd-wasm'
import kafkajs from 'kafkajs'
import lz4 from 'lz4js'
import snappy from 'snappyjs'

import { report } from './common.mjs'

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs
const PARTITIONS = 64
const RECORDS_EACH = 10
const SEQUENCE = 5000
const CODECS = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' }

const QUIET_MS = 10_000 // without a new record for so long, there are no more

const codec = (compress, decompress) => () => ({
  compress: async (encoder) => Buffer.from(compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(decompress(buffer)),
})
CompressionCodecs[CompressionTypes.Snappy] = codec((b) => snappy.compress(b), (b) => snappy.uncompress(b))
CompressionCodecs[CompressionTypes.LZ4] = codec((b) => lz4.compress(b), (b) => lz4.decompress(b))
CompressionCodecs[CompressionTypes.ZSTD] = codec((b) => zstdCompress(b), (b) => zstdDecompress(b))

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

const spread = (partition) => Array.from({ length: RECORDS_EACH }, (_, i) => `${partition}-${i}`)
const sequence = () => Array.from({ length: SEQUENCE }, (_, i) => String(i))

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
  const spreadOut = Array.from({ length: PARTITIONS }, (_, partition) => spread(partition).map((value) => ({ partition, value })))
  await report('partitions', () => produce('partitions', spreadOut.flat()))
  const all = sequence().map((value) => ({ partition: 0, value }))
  await report('idempotent', () => produce('idempotent', all, { idempotent: true, maxInFlightRequests: 1 }))
}

// Every record of all topics, read once from the beginning: topic -> partition -> records in their order.
async function readAll() {
  const names = [...Object.keys(CODECS), 'partitions', 'idempotent']
  let missing = Object.keys(CODECS).length * records().length + PARTITIONS * RECORDS_EACH + SEQUENCE
  const read = new Map(names.map((name) => [`${prefix}-${name}`, new Map()]))
  const consumer = kafka.consumer({ groupId: `${prefix}-${process.pid}-${Date.now()}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topics: [...read.keys()], fromBeginning: true })
  await new Promise((resolve, reject) => {
    let quiet = setTimeout(resolve, 3 * QUIET_MS)
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    consumer.run({ eachMessage: async ({ topic, partition, message }) => {
      clearTimeout(quiet)
      const partitions = read.get(topic)
      partitions.set(partition, [...(partitions.get(partition) ?? []), message])
      missing -= 1
      quiet = setTimeout(resolve, missing > 0 ? QUIET_MS : 0)
    } }).catch(reject)
  })
  await consumer.disconnect()
  return (name) => read.get(`${prefix}-${name}`)
}

const asText = (content) => (content === null || content === undefined ? null : content.toString('latin1'))
const headersAsText = (headers = {}) => Object.entries(headers).map(([name, content]) => [name, [content].flat().map(asText)])

function expectSame(have, wanted, where) {
  const [a, b] = [JSON.stringify(have), JSON.stringify(wanted)]
  if (a !== b) throw new Error(`${where}: ${a.slice(0, 80)} instead of ${b.slice(0, 80)}`)
}

function checkRecords(read = []) {
  const wanted = records()
  if (read.length !== wanted.length) throw new Error(`${read.length} records instead of ${wanted.length}`)
  wanted.forEach(({ key, value, headers }, index) => {
    const bytes = (content) => (content === null ? null : Buffer.from(content))
    const want = [index, asText(bytes(key)), asText(bytes(value)), headersAsText(headers)]
    const { offset, key: readKey, value: readValue, headers: readHeaders } = read[index]
    expectSame([Number(offset), asText(readKey), asText(readValue), headersAsText(readHeaders)], want, `record ${index}`)
  })
}

function checkValues(read = [], wanted, where) {
  expectSame(read.map(({ offset, value }) => [Number(offset), asText(value)]), wanted.map((value, i) => [i, value]), where)
}

async function check() {
  await zstdInit()
  const read = await readAll()
  for (const name of Object.keys(CODECS)) await report(name, async () => checkRecords(read(name).get(0)))
  await report('partitions', async () => {
    for (let p = 0; p < PARTITIONS; p++) checkValues(read('partitions').get(p), spread(p), `partition ${p}`)
  })
  await report('idempotent', async () => checkValues(read('idempotent').get(0), sequence(), 'partition 0'))
}

await { write, check }[verb]()
