// Confluent's JavaScript client, through its interface that is like that of kafkajs. Its consumer reads in a group of its own.

import confluent from '@confluentinc/kafka-javascript'

const { Kafka, CompressionTypes, logLevel } = confluent.KafkaJS
const PARTITIONS = 64
const RECORDS_EACH = 10
const SEQUENCE = 5000
const CODECS = { none: 'None', gzip: 'GZIP', snappy: 'SNAPPY', lz4: 'LZ4', zstd: 'ZSTD' }
const QUIET_MS = 10_000 // without a new record for so long, there are no more

const [verb, bootstrap, prefix] = process.argv.slice(2)
const kafka = new Kafka({ kafkaJS: { brokers: [bootstrap], clientId: 'compat', logLevel: logLevel.NOTHING } })

async function report(name, action) {
  try {
    await action()
    console.log(`${name}\tok\t`)
  } catch (error) {
    console.log(`${name}\tFAIL\t${String(error).replace(/\s+/g, ' ')}`)
  }
}

function records() {
  const big = Buffer.alloc(1_000_000)
  for (let i = 0; i < big.length; i++) big[i] = 97 + (i % 26)
  return [
    { key: 'key-0', value: 'value-0', headers: { h: ['a', 'b'], empty: '' } },
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
  await admin.createTopics({ topics })
  const listed = await admin.listTopics()
  const missing = topics.filter(({ topic }) => !listed.includes(topic))
  await admin.disconnect()
  if (missing.length) throw new Error(`missing: ${JSON.stringify(missing)}`)
}

async function produce(topic, messages, settings = {}) {
  const producer = kafka.producer({ kafkaJS: { acks: -1, ...settings }, 'message.max.bytes': 1_048_588 })
  await producer.connect()
  try {
    await producer.send({ topic: `${prefix}-${topic}`, messages })
  } finally {
    await producer.disconnect()
  }
}

async function write() {
  await report('topics', createTopics)
  for (const codec of Object.keys(CODECS)) {
    await report(codec, () => produce(codec, records(), { compression: CompressionTypes[CODECS[codec]] }))
  }
  const spreadOut = Array.from({ length: PARTITIONS }, (_, partition) => spread(partition).map((value) => ({ partition, value })))
  await report('partitions', () => produce('partitions', spreadOut.flat()))
  const all = sequence().map((value) => ({ partition: 0, value }))
  await report('idempotent', () => produce('idempotent', all, { idempotent: true }))
}

// Every record of all topics, read once from the beginning: topic -> partition -> records in their order.
async function readAll() {
  const names = [...Object.keys(CODECS), 'partitions', 'idempotent']
  let missing = Object.keys(CODECS).length * records().length + PARTITIONS * RECORDS_EACH + SEQUENCE
  const read = new Map(names.map((name) => [`${prefix}-${name}`, new Map()]))
  const consumer = kafka.consumer({ kafkaJS: { groupId: `${prefix}-${process.pid}-${Date.now()}`, fromBeginning: true } })
  await consumer.connect()
  await consumer.subscribe({ topics: [...read.keys()] })
  await new Promise((resolve) => {
    let quiet = setTimeout(resolve, 3 * QUIET_MS)
    consumer.run({ eachMessage: async ({ topic, partition, message }) => {
      clearTimeout(quiet)
      const partitions = read.get(topic)
      partitions.set(partition, [...(partitions.get(partition) ?? []), message])
      missing -= 1
      quiet = setTimeout(resolve, missing > 0 ? QUIET_MS : 0)
    } })
  })
  await consumer.disconnect()
  return (name) => read.get(`${prefix}-${name}`)
}

const asText = (content) => (content === null || content === undefined ? null : Buffer.from(content).toString('latin1'))

// This client reads an empty value as none.
const valueAsRead = (content) => asText(content) || null

function expectSame(have, wanted, where) {
  const [a, b] = [JSON.stringify(have), JSON.stringify(wanted)]
  if (a !== b) throw new Error(`${where}: ${a.slice(0, 80)} instead of ${b.slice(0, 80)}`)
}

function checkRecords(read = []) {
  const wanted = records()
  if (read.length !== wanted.length) throw new Error(`${read.length} records instead of ${wanted.length}`)
  const headers = (given = {}) => Object.entries(given).map(([name, content]) => [name, [content].flat().map(asText)])
  wanted.forEach((want, index) => {
    const have = read[index]
    expectSame([Number(have.offset), asText(have.key), valueAsRead(have.value), headers(have.headers)],
      [index, asText(want.key), valueAsRead(want.value), headers(want.headers)], `record ${index}`)
  })
}

function checkValues(read = [], wanted, where) {
  expectSame(read.map(({ offset, value }) => [Number(offset), asText(value)]), wanted.map((value, i) => [i, value]), where)
}

async function check() {
  const read = await readAll()
  for (const name of Object.keys(CODECS)) await report(name, async () => checkRecords(read(name).get(0)))
  await report('partitions', async () => {
    for (let p = 0; p < PARTITIONS; p++) checkValues(read('partitions').get(p), spread(p), `partition ${p}`)
  })
  await report('idempotent', async () => checkValues(read('idempotent').get(0), sequence(), 'partition 0'))
}

await { write, check }[verb]()
process.exit(0)
