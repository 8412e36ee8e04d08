// Helpers for table tests of user mistakes: the expected error, the job after the fix, a healthy Installation that runs
// at the same time, and a check of the logs.
//
//   M1. Each row checks that the message names the object, the field, the found value and the expected value.
//   M2. While the rows run, another Installation in the namespace runs one job after the other; each succeeds in time.
//   M3. After all rows, the worker process has not restarted, and its log has no problems except user mistakes.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Cluster, installation, type LsObject, OPERATION } from '../cluster/cluster.ts'
import { importingInstallation } from './imports.ts'
import type { Pawl } from '../pawl/pawl.ts'

export interface ExpectedFailure {
  readonly reason: string
  /** Texts that the message must contain. */
  readonly says: readonly (string | RegExp)[]
  /** The expected error codes. Undefined: the test does not check them, because no tool depends on them. */
  readonly codes?: readonly string[]
}

/** YAML with nine levels of nine entries: its expanded aliases have about a gigabyte of text. */
export const BOMB = [
  'a0: &a0 [x, x, x, x, x, x, x, x, x]',
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `a${n}: &a${n} [${`*a${n - 1}, `.repeat(9)}]`),
].join('\n')

/** Checks `status.lastError` of a failed object. */
export function expectFailure(object: LsObject | undefined, { reason, says, codes }: ExpectedFailure): void {
  const { phase, lastError } = object?.status ?? {}
  expect({ phase, reason: lastError?.reason }, lastError?.message).toEqual({ phase: 'Failed', reason })
  for (const text of says) expect(lastError?.message).toMatch(typeof text === 'string' ? literally(text) : text)
  if (codes !== undefined) expect(lastError?.codes).toEqual(codes)
}

function literally(text: string): RegExp {
  return new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
}

/** Replaces the blueprint of a failed Installation by one with a valid item, and waits for the end of the next job. */
export async function fixBlueprint(cluster: Cluster, failed: LsObject): Promise<LsObject> {
  const { spec } = installation('mended', [{ name: 'mended' }])
  const { blueprint } = failed.spec as { blueprint: { inline: { filesystem: object | string } } }
  const { filesystem } = blueprint.inline
  const old = typeof filesystem === 'string' ? [] : Object.keys(filesystem).map((path) => [path, null] as const)
  const files = { ...Object.fromEntries(old), ...spec.blueprint.inline.filesystem }
  await cluster.patch('installations', failed.metadata.name, {
    spec: {
      context: null,
      imports: null,
      exports: null,
      importDataMappings: null,
      componentDescriptor: null,
      blueprint: { ref: null, inline: { filesystem: files } },
    },
    metadata: { annotations: { [OPERATION]: 'reconcile' } },
  })
  return await cluster.waitUntilFinished(failed.metadata.name, failed.status?.jobID)
}

/** A healthy Installation that runs one job after the other until it is stopped. */
export class Neighbour {
  readonly #cluster: Cluster
  readonly #name: string
  #count = 0
  #isStopped = false
  #jobs: Promise<unknown> = Promise.resolve()

  private constructor(cluster: Cluster, name: string) {
    this.#cluster = cluster
    this.#name = name
  }

  static async start(cluster: Cluster, name = 'neighbour'): Promise<Neighbour> {
    await cluster.create(installation(name, [{ name: 'one' }, { name: 'two', dependsOn: ['one'] }]), 'installations')
    const neighbour = new Neighbour(cluster, name)
    neighbour.#jobs = neighbour.#run().catch((error: unknown) => error)
    return neighbour
  }

  /** @returns the number of its jobs. @throws Error if a job failed or did not end. */
  async stop(): Promise<number> {
    this.#isStopped = true
    const error = await this.#jobs
    if (error instanceof Error) throw error
    return this.#count
  }

  async #run(): Promise<void> {
    let last: string | undefined
    do {
      if (last !== undefined) await this.#cluster.trigger(this.#name)
      const { status } = await this.#cluster.waitUntilFinished(this.#name, last)
      if (status?.phase !== 'Succeeded') throw new Error(`${this.#name} ended ${JSON.stringify(status)}`)
      last = status.jobID
      this.#count += 1
      await sleep(250)
    } while (!this.#isStopped)
  }
}

// The SDK logs each failed activity, also for user errors. Processes log warnings at their start.
const OF_USERS = /^Activity (failed|cancelled)|^no content key/
// Messages after a server did not answer for some seconds. Pawl retries, or writes a status.
const OF_SERVERS =
  /^the Event could not be written|^batch of events is not journaled|^journal cannot be read|^wake cannot be dispatched|^watch was interrupted|^could not (follow the kind|list what is due)|^connection for notifications|^no connection for notifications|^sweep failed|^run cannot be looked up/
/** The error of a request that a server did not answer, with any message: of the client for PostgreSQL, HTTP or TCP. */
const NO_ANSWER =
  /timeout exceeded when trying to connect|^Connection terminated|^Query read timeout|: no answer: |\b(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT)\b/
/** Logs of the SDK's core if a pass waits for an endless template or its task times out. Temporal retries the task. */
const SLOW_TASK = /TMPRL1104|WARN.*temporalio_sdk_core|Trying to send a new WFT for a run which already has one/
const WARNING_LEVEL = 40

/** The log lines of a process that report problems of the process itself. */
export function loggedProblems(pawl: Pawl, part: string): readonly unknown[] {
  return pawl.log(part).split('\n').filter(isComplaint)
}

function isComplaint(line: string): boolean {
  if (line.trim() === '' || SLOW_TASK.test(line)) return false
  if (!line.startsWith('{')) return true
  const {
    level = 0,
    msg = '',
    err = {},
  } = JSON.parse(line) as { level?: number; msg?: string; err?: { message?: string } }
  const isOfServers = OF_SERVERS.test(msg) || NO_ANSWER.test(err.message ?? '')
  return level >= WARNING_LEVEL && !OF_USERS.test(msg) && !isOfServers
}

/** Creates an Installation whose deploy items are rendered from this template. */
export const rendering =
  (template: unknown, type = 'GoTemplate', more: object = {}) =>
  (name: string) =>
    importingInstallation(name, { blueprint: { deployExecutions: [{ name: 'items', type, template }], ...more } })

/** A data import or data export of a blueprint. */
export const dataImport = (name: string, schema: unknown, more: object = {}) => ({
  name,
  type: 'data',
  schema,
  ...more,
})

export const configurationProblem = (...says: ExpectedFailure['says']): ExpectedFailure => ({
  reason: 'ERR_CONFIGURATION_PROBLEM',
  says,
})
