import { describe, expect, it } from 'vitest'

import type { AgentPod } from '../../../worker/node-agent/agent-pod.ts'
import {
  type ContainerFacts,
  type ContainerRun,
  decide,
  type Decision,
  type Ending,
  type Exit,
  type PodFacts,
} from '../../../worker/node-agent/decide.ts'
import { agentPod, deleting, type PodOptions } from './pods.ts'

const NOW = 100_000
const SETTINGS = { restartDelayMs: 10_000 }

const exited = (code: number): Exit => ({ how: 'exited', code })
const running = (more: object = {}): ContainerRun => ({
  state: 'running',
  startedMs: 2000,
  isStarted: true,
  isReady: false,
  isUnhealthy: false,
  ...more,
})
const ended = (exit: Exit, finishedMs = NOW): ContainerRun => ({ state: 'ended', startedMs: 2000, finishedMs, exit })
const NONE: ContainerRun = { state: 'none' }
const STARTING: ContainerRun = { state: 'starting' }

const container = (run: ContainerRun, crashes = 0): ContainerFacts => ({ run, restarts: 0, crashes })
const facts = (run: ContainerRun, ending?: Ending): PodFacts => ({
  acceptedMs: 1000,
  ending,
  containers: { main: container(run, run.state === 'ended' ? 1 : 0) },
})
const UNKNOWN: PodFacts = { acceptedMs: undefined, ending: undefined, containers: {} }
const ending = (more: Partial<Ending> = {}): Ending => ({
  why: 'deleted',
  sinceMs: NOW - 10_000,
  graceMs: 60_000,
  isKilled: false,
  ...more,
})

const pod = (more: PodOptions = {}) => agentPod(more)
const toGo = (graceSeconds = 5) => deleting(graceSeconds)
const LIVE = { phase: 'Running' }
const terminate = (why: string, graceMs: number) => ({ do: 'terminate', why, graceMs })
const DEADLINE = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
}

type Row = readonly [string, AgentPod | undefined, PodFacts, object]

const ROWS: readonly Row[] = [
  ['a new pod is accepted', pod(), UNKNOWN, { act: [{ do: 'accept' }] }],
  ['its container is started', pod(), facts(NONE), { report: true, act: [{ do: 'start', container: 'main' }] }],
  ['a starting container is not started again', pod(), facts(STARTING), { report: true }],
  ['a pod that is deleted before its start is released', pod(toGo()), UNKNOWN, { release: true }],
  ['a pod with a grace period of 0 is deleted by the API server', pod(toGo(0)), UNKNOWN, {}],
  ['a running pod is reported', pod(), facts(running()), { report: true }],
  [
    'the deadline limits the wait',
    pod({ ...LIVE, activeDeadlineSeconds: 100 }),
    facts(running()),
    { report: true, againMs: 1000 },
  ],
  [
    'at the deadline the processes are terminated',
    pod({ ...LIVE, activeDeadlineSeconds: 99 }),
    facts(running()),
    { report: true, act: [terminate('deadline', 60_000)] },
  ],
  [
    'a deletion has its own grace period',
    pod({ ...LIVE, ...toGo() }),
    facts(running()),
    { report: true, act: [terminate('deleted', 5000)] },
  ],
  [
    'the processes are signalled once',
    pod({ ...LIVE, ...toGo() }),
    facts(running(), ending()),
    { report: true, againMs: 50_000 },
  ],
  [
    'after the grace period they are killed',
    pod({ ...LIVE, ...toGo() }),
    facts(running(), ending({ graceMs: 10_000 })),
    { report: true, act: [{ do: 'kill' }] },
  ],
  [
    'they are killed once',
    pod({ ...LIVE, ...toGo() }),
    facts(running(), ending({ graceMs: 10_000, isKilled: true })),
    { report: true },
  ],
  [
    'a deleted pod has succeeded if its containers ended with 0',
    pod({ ...LIVE, ...toGo() }),
    facts(ended(exited(0)), ending()),
    { report: true, end: { phase: 'Succeeded' } },
  ],
  [
    'any other exit code is a failure',
    pod({ ...LIVE, ...toGo() }),
    facts(ended(exited(137)), ending()),
    { report: true, end: { phase: 'Failed' } },
  ],
  [
    'a pod that never restarts ends with its container',
    pod(LIVE),
    facts(ended(exited(1))),
    { report: true, end: { phase: 'Failed' } },
  ],
  [
    'a pod that ended at its deadline has failed, even with 0',
    pod({ ...LIVE, activeDeadlineSeconds: 1 }),
    facts(ended(exited(0)), ending({ why: 'deadline' })),
    { report: true, end: DEADLINE },
  ],
  ['a running pod without a record has failed', pod(LIVE), UNKNOWN, { report: true, end: { phase: 'Failed' } }],
  [
    'if its containers restart, it starts again',
    pod({ ...LIVE, restartPolicy: 'Always' }),
    UNKNOWN,
    { act: [{ do: 'accept' }] },
  ],
  ['a reported end stays', pod({ phase: 'Failed' }), facts(ended(exited(1))), {}],
  [
    'and is released when the pod is deleted',
    pod({ phase: 'Succeeded', ...toGo() }),
    facts(ended(exited(0))),
    { release: true },
  ],
  ['also without a record', pod({ phase: 'Succeeded', ...toGo() }), UNKNOWN, { release: true }],
  [
    'a pod that another client has marked as ended is terminated',
    pod({ phase: 'Failed' }),
    facts(running()),
    { act: [terminate('deleted', 60_000)] },
  ],
  ['processes without their pod are terminated', undefined, facts(running()), { act: [terminate('gone', 60_000)] }],
  ['they have a grace period', undefined, facts(running(), ending({ why: 'gone' })), { againMs: 50_000 }],
  ['then they are killed', undefined, facts(running(), ending({ why: 'gone', graceMs: 1 })), { act: [{ do: 'kill' }] }],
  ['then the pod is swept', undefined, facts(ended(exited(0))), { act: [{ do: 'sweep' }] }],
  ['a pod that never ran is swept', undefined, UNKNOWN, { act: [{ do: 'sweep' }] }],
]

const always = (more: PodOptions = {}) => pod({ ...LIVE, restartPolicy: 'Always', ...more })
const crashed = (crashes: number, code = 1, ageMs = 1000): PodFacts => ({
  acceptedMs: 1000,
  ending: undefined,
  containers: { main: container(ended(exited(code), NOW - ageMs), crashes) },
})
const RESTART = { act: [{ do: 'start', container: 'main' }] }

const RESTARTS: readonly Row[] = [
  ['the first restart is immediate', always(), crashed(1), { report: true, ...RESTART }],
  ['a success restarts, too', always(), crashed(1, 0), { report: true, ...RESTART }],
  ['the second restart waits', always(), crashed(2), { report: true, againMs: 9000, backOff: { main: 10_000 } }],
  [
    'the fourth restart waits longer',
    always(),
    crashed(4),
    { report: true, againMs: 39_000, backOff: { main: 40_000 } },
  ],
  ['the wait has a limit', always(), crashed(20), { report: true, againMs: 299_000, backOff: { main: 300_000 } }],
  ['a restart follows after the wait', always(), crashed(2, 1, 10_000), { report: true, ...RESTART }],
  [
    'OnFailure restarts a failure',
    pod({ ...LIVE, restartPolicy: 'OnFailure' }),
    crashed(1),
    { report: true, ...RESTART },
  ],
  [
    'OnFailure ends after a success',
    pod({ ...LIVE, restartPolicy: 'OnFailure' }),
    crashed(1, 0),
    { report: true, end: { phase: 'Succeeded' } },
  ],
  [
    'an unhealthy container is terminated alone',
    always(),
    facts(running({ isUnhealthy: true })),
    { report: true, act: [{ ...terminate('unhealthy', 60_000), container: 'main' }] },
  ],
  [
    'and killed alone',
    always(),
    facts(running({ isUnhealthy: true, ending: ending({ why: 'unhealthy', graceMs: 1 }) })),
    { report: true, act: [{ do: 'kill', container: 'main' }] },
  ],
]

const newImage = (more: PodOptions = {}) => always({ containers: [{ name: 'main', image: 'new' }], ...more })
const ofImage = (image: string, run: ContainerRun): ContainerRun => ({ ...run, image }) as ContainerRun
const END_FOR_IMAGE = { ...terminate('image', 60_000), container: 'main' }
const forImage = ofImage('i', { ...ended(exited(0), NOW - 1000), why: 'image' } as ContainerRun)

const IMAGES: readonly Row[] = [
  ['a container with the image of its pod runs on', newImage(), facts(ofImage('new', running())), { report: true }],
  [
    'a container with another image is terminated',
    newImage(),
    facts(ofImage('i', running())),
    { report: true, act: [END_FOR_IMAGE] },
  ],
  [
    'once',
    newImage(),
    facts(ofImage('i', running({ ending: ending({ why: 'image' }) }))),
    { report: true, againMs: 50_000 },
  ],
  ['and starts again', newImage(), facts(forImage), { report: true, ...RESTART }],
  ['even if it never restarts', newImage({ restartPolicy: 'Never' }), facts(forImage), { report: true, ...RESTART }],
  [
    'a container that ended before by itself does not',
    newImage({ restartPolicy: 'Never' }),
    facts(ofImage('i', ended(exited(0)))),
    { report: true, end: { phase: 'Succeeded' } },
  ],
  [
    'a new image does not wait for the back-off of the previous image',
    newImage(),
    { ...facts(NONE), containers: { main: container(ofImage('i', ended(exited(1))), 5) } },
    { report: true, ...RESTART },
  ],
  [
    'a pod that is being deleted only ends',
    newImage(toGo()),
    facts(ofImage('i', running())),
    { report: true, act: [terminate('deleted', 5000)] },
  ],
]

const INIT = { initContainers: [{ name: 'a' }, { name: 'b' }], containers: [{ name: 'main' }, { name: 'side' }] }
const several = (...runs: readonly ContainerRun[]): PodFacts => ({
  acceptedMs: 1000,
  ending: undefined,
  containers: Object.fromEntries(
    ['a', 'b', 'main', 'side'].map((name, index) => [name, container(runs[index] ?? NONE, 1)]),
  ),
})
const start = (...names: readonly string[]) => ({
  report: true,
  act: names.map((name) => ({ do: 'start', container: name })),
})
const DONE = ended(exited(0))

const ORDER: readonly Row[] = [
  ['the first init container starts alone', always(INIT), several(), start('a')],
  ['the second one waits for the first', always(INIT), several(running()), { report: true }],
  ['and starts after its success', always(INIT), several(DONE), start('b')],
  ['a failed init container starts again', always(INIT), several(ended(exited(1))), start('a')],
  ['or ends the pod', pod(INIT), several(DONE, ended(exited(1))), { report: true, end: { phase: 'Failed' } }],
  ['all containers start after the last init container', always(INIT), several(DONE, DONE), start('main', 'side')],
  ['a container restarts while others run', always(INIT), several(DONE, DONE, DONE, running()), start('main')],
  [
    'a pod lives while one container runs',
    pod({ ...LIVE, ...INIT }),
    several(DONE, DONE, DONE, running()),
    { report: true },
  ],
]

describe.each([
  ['of a node agent', ROWS],
  ['about restarts', RESTARTS],
  ['about changed images', IMAGES],
  ['about the order of containers', ORDER],
])('the decision %s', (_, rows) => {
  it.each(rows)('%s', (_title, given, found, expected) => {
    const nothing: Decision = {
      act: [],
      report: false,
      end: undefined,
      release: false,
      againMs: undefined,
      backOff: {},
    }
    expect(decide(given, found, NOW, SETTINGS)).toEqual({ ...nothing, ...expected })
  })
})

describe('for all pods and processes, the decision', () => {
  const FACTS: readonly PodFacts[] = [
    ...[UNKNOWN, facts(NONE), facts(STARTING), facts(running()), facts(running(), ending())],
    ...[facts(running(), ending({ graceMs: 0 })), facts(ended(exited(0))), facts(ended({ how: 'lost' }))],
  ]
  const PODS = (['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] as const).flatMap((phase) =>
    [{}, toGo()].flatMap((deletion) =>
      ['Always', 'Never'].map((restartPolicy) => pod({ phase, restartPolicy, ...deletion })),
    ),
  )
  const CASES = PODS.flatMap((given) =>
    FACTS.map((found) => ({ given, found, ...decide(given, found, NOW, SETTINGS) })),
  )

  it('releases no pod before it has reported its end, or while its process lives', () => {
    const released = CASES.filter(({ release }) => release)
    expect(released.length).toBeGreaterThan(5)
    for (const { given, found, report } of released) {
      expect(report).toBe(false)
      expect(['none', 'ended', undefined]).toContain(found.containers['main']?.run.state)
      expect(given.deletion).toBeDefined()
      if (found.acceptedMs !== undefined) expect(['Succeeded', 'Failed']).toContain(given.phase)
    }
  })

  it('starts a container only in a pod that has not ended and is not being deleted', () => {
    const starts = CASES.filter(({ act }) => act.some((one) => one.do === 'start'))
    expect(starts.length).toBeGreaterThan(2)
    for (const { given, found } of starts) {
      expect(['Pending', 'Running', 'Unknown']).toContain(given.phase)
      expect([given.deletion, found.ending]).toEqual([undefined, undefined])
      expect(['none', 'ended']).toContain(found.containers['main']?.run.state)
    }
  })
})
