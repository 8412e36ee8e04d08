// A minimal controller in level mode for tests of its workflow run: the target's spec defines the outcome of a pass.

import {
  action,
  again,
  defineLevel,
  done,
  fail,
  type JobInput,
  join,
  type JsonObject,
  type LevelDefinition,
  type LevelPass,
  type Outcome,
  sequential,
  timeout,
  when,
} from '../../workflows/kit/index.ts'
import { runLevel, type RunResult } from '../../workflows/kit/run/loop/index.ts'

/** The target. Its spec defines what a pass does. */
export interface Gadget extends JsonObject {
  readonly spec: {
    readonly outcome?: Partial<Outcome>
    /** The workflow code throws an error with this message. */
    readonly bug?: string
    readonly apply?: {
      readonly apiVersion: string
      readonly kind: string
      readonly namespace?: string
      readonly data?: Record<string, string>
    }
    /** Calls apply, create, patch, release and event, once each. */
    readonly acts?: true
    /** Emits an Event before the other actions. */
    readonly tells?: true
    readonly save?: true
    readonly remove?: true
    readonly status?: Record<string, string | null>
    readonly refresh?: true
    /** The `before` hook appends each step's name to the status. */
    readonly traced?: true
    /** The step reads the state `list`. */
    readonly lists?: true
    /** The steps have a timeout of 1 s. */
    readonly isHurried?: true
    /** The apply activity runs until it is cancelled (gadget-world.ts). */
    readonly hangs?: true
  }
}

interface State {
  readonly one: JsonObject | undefined
  readonly list: readonly JsonObject[]
  /** Never exists. The name is also a property of every JavaScript object. */
  readonly constructor: JsonObject | undefined
}

type Pass = LevelPass<State, Gadget>

const act = action<Pass>('act', async (pass) => {
  const { outcome = {}, bug, apply, remove, status = {}, refresh, lists } = pass.target.spec
  if (bug !== undefined) throw new TypeError(bug)
  if (pass.state.constructor !== undefined) return fail('Bug', 'a state is there that was not found')
  for (const [field, value] of Object.entries(status)) pass.status[field] = value
  pass.log.info('acts', { said: status['said'], at: pass.now })
  if (lists === true) pass.status['listed'] = String(pass.state.list.length)
  if (apply !== undefined) {
    const { namespace, ...object } = apply
    await pass.act.apply({ ...object, metadata: { name: 'made', namespace } })
  }
  if (refresh === true && (await pass.refresh('one')) !== pass.state.one) return fail('Bug', 'state was not replaced')
  if (remove === true && pass.state.one !== undefined) await pass.act.remove(pass.state.one)
  return { ...done, ...outcome }
})

const tell = action<Pass>('tell', async (pass) => {
  if (pass.target.spec.tells === true) await pass.act.event({ type: 'Normal', reason: 'Opened', message: 'it is open' })
  return done
})

/** Applies another object. After a timeout, this call must not happen. */
const actLater = action<Pass>('actLater', async (pass) => {
  await pass.act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'later' } })
  return done
})

const isHurried = ({ target }: Pass) => target.spec.isHurried === true
const actMore = action<Pass>('actMore', async (pass) => {
  const { acts, save } = pass.target.spec
  if (acts === true && pass.state.one !== undefined) await actsOn(pass, pass.state.one)
  const said = save === true ? await saved(pass) : undefined
  return said === undefined || said === 'first, True, True, version 2' ? done : fail('Bug', said)
})

async function actsOn({ act }: Pass, one: JsonObject): Promise<void> {
  const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' } }
  await act.apply(made, { adopt: true, expected: one })
  const message = await act.create({ ...made, metadata: { name: 'only' } })
  await act.patch(one, { data: { key: 'value' } }, { fenced: true })
  await act.release(one, 'example.com/hold')
  await act.event({ type: 'Normal', reason: 'Made', message })
}

async function saved(pass: Pass): Promise<string> {
  const before = pass.target['status'] as { readonly conditions: readonly { readonly type: string }[] }
  pass.status['said'] = 'first'
  pass.status['conditions'] = [...before.conditions, { type: 'Ours', status: 'True' }]
  await pass.save()
  await pass.save()
  const { said, conditions } = pass.target['status'] as {
    readonly said: string
    readonly conditions: readonly { readonly status: string }[]
  }
  pass.status['said'] = 'second'
  return [said, ...conditions.map(({ status }) => status), `version ${pass.target.metadata.resourceVersion}`].join(', ')
}

const definition = {
  name: 'gadget',
  target: { apiVersion: 'example.com/v1', kind: 'Gadget', plural: 'gadgets' },
  queries: {
    one: { kind: 'v1/ConfigMap', name: 'one' },
    list: { kind: 'v1/Pod', many: true },
    constructor: { kind: 'v1/ConfigMap', name: 'nobody' },
  },
  writes: [{ kind: 'v1/ConfigMap', namespaces: ['declared'] }, 'v1/Secret'],
  plan: when(isHurried, timeout(1000, join(act, actLater)), sequential(tell, act, actMore)),
  hooks: {
    before: ({ name }, { target, subject, status }) => {
      const { trace = subject.name } = status as { trace?: string }
      if (target.spec.traced === true) status['trace'] = `${trace} > ${name}`
    },
  },
  finalizer: 'example.com/hold',
  onDelete: sequential(tell, act),
} satisfies LevelDefinition<State, Gadget>
const controller = defineLevel<State, Gadget>(definition)

/** The same controller with at most one concurrent pass. */
const bounded = { ...controller, name: 'bounded', settings: { passes: 1 } }

export async function boundedGadget(input: JobInput): Promise<RunResult> {
  return await runLevel(bounded, input)
}

/** The same controller with clean-up after another controller has removed the finalizer. */
const clear = action<Pass>('clear', async (pass) => {
  pass.status['said'] = 'nobody sees it'
  if (pass.state.one === undefined) return done
  await pass.act.remove(pass.state.one)
  return again(10)
})
const clearing = defineLevel<State, Gadget>({ ...definition, name: 'clearing', onGone: clear })

export async function clearingGadget(input: JobInput): Promise<RunResult> {
  return await runLevel(clearing, input)
}

/** The same controller with Events piggybacked on other calls. */
const quiet = { ...controller, name: 'quiet', settings: { events: 'along' } } as const

export async function quietGadget(input: JobInput): Promise<RunResult> {
  return await runLevel(quiet, input)
}

export async function gadget(input: JobInput): Promise<RunResult> {
  return await runLevel(controller, input)
}
