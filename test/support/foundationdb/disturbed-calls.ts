// Counts the calls of a controller's passes, and disturbs one of them as the end of the worker does. A call is a write to the API server, a call of the
// database or of the Pods, or a write of the status.
//
//   D1. `killed`: the call takes effect, and the pass ends. The status that the pass has not saved is lost, and the next pass begins with a new context.
//   D2. `repeated`: the call takes effect twice, because the next worker replays the workflow task and does not know the result. Temporal does so with calls
//       of the API server, which are local activities.
//   D3. `unanswered` and `unsent`: the pass gets a time-out after an activity that ran, or did not run. Temporal does so with calls of the database and of
//       the Pods, which are activities with one attempt; the next worker continues the pass.

import { again, type LevelController, runStep, type Step } from '../../../workflows/kit/index.ts'
import type { AnyLevelPass } from '../../../workflows/kit/run/level/define-level.ts'
import { FakedFailure } from '../../../workflows/kit/testing/fake-activities.ts'

export type Disturbance = 'killed' | 'repeated' | 'unanswered' | 'unsent'

/** The disturbances that a call can have. @param call its name in `CallRecorder.calls`. */
export function disturbancesOf(call: string): readonly Disturbance[] {
  if (call.startsWith('call ')) return ['killed', 'unanswered', 'unsent']
  // A second write of the status changes nothing, and a second deletion finds no object.
  return call === 'status' || call.startsWith('remove ') ? ['killed'] : ['killed', 'repeated']
}

class WorkerKilled extends Error {}

export class CallRecorder {
  /** Such as `create Pod`, `call exclude` and `status`, in the order of the passes. */
  readonly calls: string[] = []
  private readonly disturbed: { readonly at: number; readonly how: Disturbance } | undefined
  private readonly onCall: (call: string, input: unknown) => void

  /** @param disturbed the index of the disturbed call in `calls`. @param onCall runs before each call. */
  constructor(
    disturbed?: { readonly at: number; readonly how: Disturbance },
    onCall: CallRecorder['onCall'] = () => undefined,
  ) {
    this.disturbed = disturbed
    this.onCall = onCall
  }

  /** The controller with a plan whose calls are recorded. */
  record<State, Target>(controller: LevelController<State, Target>): LevelController<State, Target> {
    const plan: Step<AnyLevelPass> = {
      name: 'recorded',
      children: [controller.plan],
      run: async (pass, runtime, hooks) => {
        const recorded = this.recordedPass(pass)
        try {
          const outcome = await runStep(controller.plan, recorded, runtime, hooks)
          await recorded.save()
          return outcome
        } catch (error) {
          if (!(error instanceof WorkerKilled)) throw error
          // D1
          for (const field of Object.keys(pass.status)) Reflect.deleteProperty(pass.status, field)
          return again(0)
        }
      },
    }
    return { ...controller, plan }
  }

  private recordedPass(pass: AnyLevelPass): AnyLevelPass {
    const { act } = pass
    const recorded: Partial<AnyLevelPass> = {
      act: {
        ...act,
        apply: (object, options) => this.send(`apply ${object.kind}`, () => act.apply(object, options)),
        create: (object, options) => this.send(`create ${object.kind}`, () => act.create(object, options)),
        patch: (object, patch, options) => this.send(`patch ${object.kind}`, () => act.patch(object, patch, options)),
        remove: (object) => this.send(`remove ${object.kind}`, () => act.remove(object)),
      },
      call: (activities) => this.recordedCalls(pass.call(activities)),
      save: () => this.send('status', () => pass.save()),
    }
    // `target` changes during the pass.
    return Object.create(pass, Object.getOwnPropertyDescriptors(recorded)) as AnyLevelPass
  }

  private recordedCalls<Calls extends object>(calls: Calls): Calls {
    const recorded = Object.entries(calls).map(([name, call]) => {
      const run = call as (input: unknown) => Promise<unknown>
      return [name, (input: unknown) => this.send(`call ${name}`, () => run(input), input)] as const
    })
    return Object.fromEntries(recorded) as unknown as Calls
  }

  private async send<Result>(call: string, run: () => Promise<Result>, input?: unknown): Promise<Result> {
    const at = this.calls.push(call) - 1
    this.onCall(call, input)
    if (at !== this.disturbed?.at) return await run()
    const { how } = this.disturbed
    if (how !== 'unsent') await run()
    if (how === 'repeated') return await run()
    if (how === 'killed') throw new WorkerKilled()
    throw new FakedFailure({ code: 'Timeout', message: `${call}: no heartbeat`, retryable: true })
  }
}
