// A controller in level mode that is as small as can be, bundled for the tests of its run: its pass comes to what the target's spec says.

import {
  action,
  defineLevel,
  done,
  fail,
  type JobInput,
  type JsonObject,
  type LevelPass,
  type Outcome,
  sequential,
} from '../../workflows/kit/index.ts'
import { runLevel, type RunResult } from '../../workflows/kit/run/loop/index.ts'

/** What a test says that a pass does. */
export interface Gadget extends JsonObject {
  readonly spec: {
    readonly outcome?: Partial<Outcome>
    /** The workflow's own code throws. */
    readonly bug?: string
    readonly apply?: { readonly apiVersion: string; readonly kind: string; readonly data?: Record<string, string> }
    readonly remove?: true
    readonly status?: Record<string, string | null>
    readonly refresh?: true
  }
}

interface State {
  readonly one: JsonObject | undefined
  readonly list: readonly JsonObject[]
  /** Never found, under a name that every object has. */
  readonly constructor: JsonObject | undefined
}

type Pass = LevelPass<State, Gadget>

const act = action<Pass>('act', async (pass) => {
  const { outcome = {}, bug, apply, remove, status = {}, refresh } = pass.target.spec
  if (bug !== undefined) throw new TypeError(bug)
  if (pass.state.constructor !== undefined) return fail('Bug', 'a state is there that was not found')
  for (const [field, value] of Object.entries(status)) pass.status[field] = value
  if (apply !== undefined) await pass.act.apply({ ...apply, metadata: { name: 'made' } })
  if (refresh === true && (await pass.refresh('one')) !== pass.state.one) return fail('Bug', 'state was not replaced')
  if (remove === true && pass.state.one !== undefined) await pass.act.remove(pass.state.one)
  return { ...done, ...outcome }
})

const controller = defineLevel<State, Gadget>({
  ...{ name: 'gadget', target: { apiVersion: 'example.com/v1', kind: 'Gadget', plural: 'gadgets' } },
  queries: {
    one: { kind: 'v1/ConfigMap', name: 'one' },
    list: { kind: 'v1/Pod', many: true },
    constructor: { kind: 'v1/ConfigMap', name: 'nobody' },
  },
  plan: sequential(act),
  finalizer: 'example.com/hold',
  onDelete: act,
})

export async function gadget(input: JobInput): Promise<RunResult> {
  return await runLevel(controller, input)
}
