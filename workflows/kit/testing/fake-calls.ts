// The activities of a controller's own as a test has them: functions that answer at once.

import type { OwnActivities } from '../run/level/own-activities.ts'
import { renderSecretRefs } from '../run/level/secret-values.ts'
import type { FakedCalls, FakedFaults } from './pass-course.ts'
import { faultsOf, FakedFailure } from './faked-faults.ts'

type Call = (input: unknown) => Promise<unknown>

/**
 * @throws a plain Error when a step calls activities that are not the controller's; from a call, when the test has no answer for it.
 */
export function fakeCalls(
  controller: { readonly name: string; readonly activities: OwnActivities | undefined },
  calls: FakedCalls,
  fails: FakedFaults['call'],
): <Of extends object>(of: OwnActivities<Of>) => Of {
  return <Of extends object>(of: OwnActivities<Of>) => {
    if (controller.activities?.load !== of.load)
      throw new Error(
        `controller ${controller.name} calls activities that are not its own; expected those of defineLevel({ activities })`,
      )
    const all = Object.keys(of.options).map((name) => [name, callOf(name, calls, fails)] as const)
    return Object.fromEntries(all) as unknown as Of
  }
}

function callOf(name: string, calls: FakedCalls, fails: FakedFaults['call']): Call {
  return async (given) => {
    const input = renderSecretRefs(given)
    const fault = faultsOf(fails, { name, input })
    if (fault !== undefined) throw new FakedFailure(fault)
    const answer = Object.hasOwn(calls, name) ? (calls[name] as Call | undefined) : undefined
    if (answer === undefined)
      throw new Error(`the pass calls the activity ${name}; expected an answer for it in \`calls\` of runPass`)
    return await answer(input)
  }
}
