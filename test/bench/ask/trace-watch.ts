// Measures the delay of `pawl trace -w`: from the commit of a change in the journal to the line in the output.
//
//   V1. Each change comes after a random pause, at any time between two polls of the command.
//   V2. Each change has a unique phase, which identifies its line.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

import type { LiveJob } from './ask-journal.ts'

const CHANGES = 20
/** V1: longer than the poll interval. */
const LONGEST_PAUSE_MS = 500
const LONGEST_MS = 30_000

/** @returns the delay of each change in milliseconds. @throws when a change is not printed. */
export async function measureTraceDelays(pawl: string, url: string, job: LiveJob): Promise<readonly number[]> {
  const client = new pg.Client({ connectionString: url })
  // The next query reports the error.
  client.on('error', () => undefined)
  await client.connect()
  const words = ['trace', `inst/${job.name}`, '-n', job.namespace, '-w', '--database-url', url]
  const child = spawn(process.execPath, [pawl, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  // The command does not end by itself when the journal is stopped.
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  try {
    const waitForLine = lineWaiterOf(child)
    await waitForLine(job.phase)
    const delays: number[] = []
    for (let change = 1; change <= CHANGES; change++) {
      await sleep(Math.random() * LONGEST_PAUSE_MS)
      const phase = `Changed${change}`
      const line = waitForLine(phase)
      await client.query('update hosted_job set phase = $1 where workflow_id = $2 and uid = $3', [
        phase,
        job.workflowID,
        job.itemUid,
      ])
      const committed = performance.now()
      await line
      delays.push(performance.now() - committed)
    }
    return delays
  } finally {
    process.off('exit', end)
    if (child.exitCode === null) {
      end()
      await once(child, 'exit')
    }
    await client.end().catch(() => undefined)
  }
}

/** @returns a function that waits for a line with a word (V2). */
function lineWaiterOf(child: ChildProcessByStdio<null, Readable, null>): (word: string) => Promise<void> {
  let onLine: (line: string) => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  createInterface(child.stdout).on('line', (line) => onLine(line))
  child.once('exit', (code) => fail(new Error(`pawl trace -w ended with ${String(code)}`)))
  return async (word) => {
    await new Promise<void>((done, broken) => {
      fail = broken
      const late = setTimeout(
        () => broken(new Error(`pawl trace -w printed no '${word}' in ${LONGEST_MS} ms`)),
        LONGEST_MS,
      )
      onLine = (line) => {
        if (!line.includes(`  ${word}`)) return
        clearTimeout(late)
        done()
      }
    })
  }
}
