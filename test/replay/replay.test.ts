// Replays of recorded runs with the current workflows, as an upgrade would replay open runs. The runs were recorded on
// real servers; how and when to record: README.md in this folder.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import proto from '@temporalio/proto'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundleCacheFolder } from '../../worker/cli/replay/load.ts'
import { loadControllers } from '../../worker/server/load-controllers.ts'
import { bundleControllers, bundleEntry } from '../../worker/reconciler/temporal/bundle.ts'
import { SCENARIOS } from './scenarios/index.ts'
import { LEVEL_CONTROLLERS } from './scenarios/levels.ts'
import { SECRET } from './scenarios/scenario.ts'

const { History } = proto.temporal.api.history.v1
const DIR = join(import.meta.dirname, 'histories')
const FAILED = 'EVENT_TYPE_WORKFLOW_EXECUTION_FAILED'

interface Recording {
  readonly workflowId: string
  readonly history: { readonly events: readonly { readonly eventType: string }[] }
}

const recordings: ReadonlyMap<string, Recording> = new Map(
  readdirSync(DIR).map((file) => [file, JSON.parse(readFileSync(join(DIR, file), 'utf8')) as Recording]),
)
const levels = ofController('beacon')
const jobs = new Map([...recordings].filter(([file]) => !levels.has(file)))

describe('the recorded runs', () => {
  it('include each outcome', () => {
    const expected = Object.entries(SCENARIOS).flatMap(([outcome, { kinds }]) =>
      kinds.map((kind) => `${kind}-${outcome}.json`),
    )
    expect([...recordings.keys()].toSorted()).toEqual(expected.toSorted())
  })

  it('came to their end, except runs that were terminated after their work or that continued as new', () => {
    const ends = [...recordings].map(([file, { history }]) => [file, history.events.at(-1)?.eventType ?? ''])
    expect(Object.fromEntries(ends.filter(([, end = '']) => !/_(?:COMPLETED|FAILED)$/.test(end)))).toEqual({
      'execution-continued.json': 'EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
      'beacon-level-continued.json': 'EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
    })
  })

  it('failed in Temporal if their jobs failed or were superseded', () => {
    const failed = [...recordings].filter(([, { history }]) => history.events.at(-1)?.eventType === FAILED)
    const outcomes = failed.map(([file]) => file.replace(/\.json$/, '').replace(/^\w+-/, ''))
    const unlucky = [
      ...[
        'cycle',
        'edited',
        'export-schema',
        'failure',
        'import-missing',
        'import-schema',
        'imports-changed',
        'interrupted',
      ],
      ...['manifest-failed', 'manifest-interrupted', 'manifest-timeout', 'pickup', 'root-failing'],
      ...['superseded', 'tree-interrupted'],
    ]
    expect([...new Set(outcomes)].toSorted()).toEqual(unlucky)
  })

  it('contain no imports, exports or secrets of users, and no file paths of the machine', () => {
    const told = [...recordings].flatMap(([file, recording]) => {
      const texts = textsOf(recording)
      // The API server returns the values of Secrets in base64.
      return [SECRET, Buffer.from(SECRET).toString('base64'), '/tmp/', process.cwd()]
        .filter((one) => texts.some((text) => text.includes(one)))
        .map((one) => [file, one])
    })
    expect(told).toEqual([])
  })
})

describe('T1: a recorded run', () => {
  let errors: Errors
  beforeAll(async () => {
    errors = await replay(await bundled('../../workflows/index.ts'), jobs)
  })

  it.each([...jobs.keys()])('%s replays to the same commands', (file) => {
    expect(errors.has(file)).toBe(true)
    expect(errors.get(file)).toBeUndefined()
  })
})

describe('T1: a recorded run in level mode', () => {
  let errors: Errors
  beforeAll(async () => {
    errors = await replay(await bundledByWorker(LEVEL_CONTROLLERS), levels)
  })

  it.each([...levels.keys()])('%s replays to the same commands', (file) => {
    expect(errors.has(file)).toBe(true)
    expect(errors.get(file)).toBeUndefined()
  })
})

describe('a workflow with an incompatible change of its loop', () => {
  it('fails the replay of the recorded runs', async () => {
    const executions = ofController('execution')
    const errors = await replay(await bundled('broken.ts'), executions)
    expect(executions.size).toBeGreaterThanOrEqual(7)
    expect(notCaught(executions, errors)).toEqual([])
  })

  it('fails the replay of the recorded runs in level mode', async () => {
    const errors = await replay(await bundled('level/broken.ts'), levels)
    expect(levels.size).toBeGreaterThanOrEqual(5)
    expect(notCaught(levels, errors)).toEqual([])
  })
})

describe('a controller in level mode with an incompatible change of its plan', () => {
  it('fails the replay of the recorded runs that executed the changed steps', async () => {
    const errors = await replay(await bundledByWorker(join(import.meta.dirname, 'level/careless.ts')), levels)
    const caught = [...levels.keys()].filter((file) => errors.get(file) !== undefined)
    expect(caught.sort()).toEqual(['beacon-level-converged.json', 'beacon-level-life.json'])
  })
})

const quiet = new DefaultLogger('ERROR', () => undefined)
Runtime.install({ logger: quiet })

// Other tests use the same bundles.
const cached = { cacheDir: bundleCacheFolder() }

type Bundle = Awaited<ReturnType<typeof bundleControllers>>
type Errors = ReadonlyMap<string, Error | undefined>

/** @param entry the path of the bundle's entry module, relative to this folder. */
async function bundled(entry: string): Promise<Bundle> {
  return await bundleEntry(join(import.meta.dirname, entry), quiet, cached)
}

/** Bundles like a worker with this module in --controllers. */
async function bundledByWorker(controllers: string): Promise<Bundle> {
  const names = (await loadControllers([controllers])).map(({ name }) => name)
  return await bundleControllers([controllers], names, quiet, cached)
}

/** Returns the error of each replay; undefined for a successful replay. */
async function replay(workflowBundle: Bundle, of: typeof recordings): Promise<Errors> {
  const files = new Map([...of].map(([file, { workflowId }]) => [workflowId, file]))
  const runs = [...of.values()].map(({ workflowId, history }) => ({ workflowId, history: History.fromObject(history) }))
  const errors = new Map<string, Error | undefined>()
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, runs))
    errors.set(files.get(workflowId) ?? workflowId, error)
  return errors
}

function ofController(name: string): typeof recordings {
  return new Map([...recordings].filter(([file]) => file.startsWith(`${name}-`)))
}

function notCaught(of: typeof recordings, errors: Errors): string[] {
  return [...of.keys()].filter((file) => errors.get(file) === undefined)
}

/** Returns all strings of a recording, each also decoded from base64, as payloads are encoded. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value, Buffer.from(value, 'base64').toString()]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}
