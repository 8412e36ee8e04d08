// Runs that were recorded on real servers, replayed with the workflows as they are now: what an upgrade would do to open runs.
// How to record: test/replay/record.ts.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import proto from '@temporalio/proto'
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import { beforeAll, describe, expect, it } from 'vitest'
import { SCENARIOS } from './scenarios/index.ts'
import { SECRET } from './scenarios/scenario.ts'

const { History } = proto.temporal.api.history.v1
const DIR = join(import.meta.dirname, 'histories')
const ROOT = join(import.meta.dirname, '..', '..')

interface Recording {
  readonly workflowId: string
  readonly history: { readonly events: readonly { readonly eventType: string }[] }
}

const recordings: ReadonlyMap<string, Recording> = new Map(
  readdirSync(DIR).map((file) => [file, JSON.parse(readFileSync(join(DIR, file), 'utf8')) as Recording]),
)

describe('the recorded runs', () => {
  it('are of each outcome', () => {
    const expected = Object.entries(SCENARIOS).flatMap(([outcome, { kinds }]) =>
      kinds.map((kind) => `${kind}-${outcome}.json`),
    )
    expect([...recordings.keys()].toSorted()).toEqual(expected.toSorted())
  })

  it('came to their end, but for those that were terminated when their work was done or gave way to a next run', () => {
    const ends = [...recordings].map(([file, { history }]) => [file, history.events.at(-1)?.eventType])
    expect(Object.fromEntries(ends.filter(([, end]) => end !== 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED'))).toEqual({
      'deploy-resumed.json': 'EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED',
      'deploy-continued.json': 'EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
    })
  })

  it('have nothing in them that users import, export or keep, and no files of the machine', () => {
    const told = [...recordings].flatMap(([file, recording]) => {
      const texts = textsOf(recording)
      return [SECRET, '/tmp/', process.cwd()]
        .filter((one) => texts.some((text) => text.includes(one)))
        .map((one) => [file, one])
    })
    expect(told).toEqual([])
  })
})

describe('a recorded run', () => {
  let errors: ReadonlyMap<string, Error | undefined>
  beforeAll(async () => {
    errors = await replay(join(ROOT, 'workflows', 'index.ts'), recordings)
  })

  it.each([...recordings.keys()])('%s replays to the same commands', (file) => {
    expect(errors.has(file)).toBe(true)
    expect(errors.get(file)).toBeUndefined()
  })
})

describe('a workflow whose loop was changed carelessly', () => {
  it('is caught by the recorded runs', async () => {
    const executions = new Map([...recordings].filter(([file]) => file.startsWith('execution-')))
    const errors = await replay(join(import.meta.dirname, 'broken.ts'), executions)
    expect(executions.size).toBeGreaterThanOrEqual(7)
    expect([...executions.keys()].filter((file) => errors.get(file) === undefined)).toEqual([])
  })
})

const quiet = new DefaultLogger('ERROR', () => undefined)
Runtime.install({ logger: quiet })

/** How each replay went wrong; undefined when it did not. */
async function replay(workflowsPath: string, of: typeof recordings): Promise<ReadonlyMap<string, Error | undefined>> {
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: quiet })
  const files = new Map([...of].map(([file, { workflowId }]) => [workflowId, file]))
  const runs = [...of.values()].map(({ workflowId, history }) => ({ workflowId, history: History.fromObject(history) }))
  const errors = new Map<string, Error | undefined>()
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, runs))
    errors.set(files.get(workflowId) ?? workflowId, error)
  return errors
}

/** All texts of a recording, those in payloads decoded. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value, Buffer.from(value, 'base64').toString()]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}
