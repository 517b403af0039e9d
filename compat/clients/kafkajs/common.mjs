// What the programs of kafkajs have in common.

import kafkajs from 'kafkajs'

const { Kafka, logLevel } = kafkajs

// A client that outlives restarts of the broker, quietly.
export const patient = (bootstrap) => new Kafka({ brokers: [bootstrap], clientId: 'compat', logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 100 } })

// One line for a case: name, `ok` or `FAIL`, and what the action returns or what was wrong.
export async function report(name, action) {
  try {
    console.log(`${name}\tok\t${(await action()) ?? ''}`)
  } catch (error) {
    console.log(`${name}\tFAIL\t${String(error).replace(/\s+/g, ' ')}`)
  }
}
