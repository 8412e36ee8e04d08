// Runs that were recorded on real servers, replayed with the workflows as they are now: what an upgrade would do to open runs.
// How to record: test/replay/record.ts.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import proto from '@temporalio/proto'
import {
  bundleWorkflowCode,
  DefaultLogger,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker'
import { beforeAll, describe, expect, it } from 'vitest'

const { History } = proto.temporal.api.history.v1
const DIR = join(import.meta.dirname, 'histories')
const ROOT = join(import.meta.dirname, '..', '..')

interface Recording {
  readonly workflowId: string
  readonly history: { readonly events: readonly { readonly eventType: string }[] }
}

const recordings = readdirSync(DIR).map(
  (file) => [file, JSON.parse(readFileSync(join(DIR, file), 'utf8')) as Recording] as const,
)
const outcomes = ['cycle', 'deletion', 'failure', 'resumed', 'second-job', 'success', 'superseded']

describe('the recorded runs', () => {
  it('are of each kind and each outcome', () => {
    const expected = ['deploy', 'execution', 'installation'].flatMap((kind) =>
      outcomes.map((outcome) => `${kind}-${outcome}.json`),
    )
    expect(recordings.map(([file]) => file).toSorted()).toEqual(expected.toSorted())
  })

  it('came to their end, but for the group that was terminated when its work was done', () => {
    const cut = recordings.filter(
      ([, { history }]) => history.events.at(-1)?.eventType !== 'EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED',
    )
    expect(cut.map(([file]) => file)).toEqual(['deploy-resumed.json'])
  })
})

describe('a recorded run', () => {
  let bundle: WorkflowBundleWithSourceMap
  beforeAll(async () => {
    bundle = await bundleOf(join(ROOT, 'workflows', 'index.ts'))
  })

  it.each(recordings)('%s replays to the same commands', async (_, recording) => {
    expect(await replay(bundle, recording)).toBeUndefined()
  })
})

describe('a workflow whose loop was changed carelessly', () => {
  it('is caught by the recorded runs', async () => {
    const bundle = await bundleOf(join(import.meta.dirname, 'broken.ts'))
    const executions = recordings.filter(([file]) => file.startsWith('execution-'))
    const passed: string[] = []
    for (const [file, recording] of executions) if ((await replay(bundle, recording)) === undefined) passed.push(file)
    expect(executions.length).toBe(outcomes.length)
    expect(passed).toEqual([])
  })
})

const quiet = new DefaultLogger('ERROR', () => undefined)
Runtime.install({ logger: quiet })

async function bundleOf(workflowsPath: string): Promise<WorkflowBundleWithSourceMap> {
  return await bundleWorkflowCode({ workflowsPath, logger: quiet })
}

/** How the replay went wrong; undefined when it did not. */
async function replay(workflowBundle: WorkflowBundleWithSourceMap, { workflowId, history }: Recording) {
  const runs = [{ workflowId, history: History.fromObject(history) }]
  for await (const { error } of Worker.runReplayHistories({ workflowBundle }, runs)) return error
  throw new Error(`the history of ${workflowId} was not replayed`)
}
