// `pawl chaos resume`: lifts an emergency stop, and reports a stop of the whole cluster that still applies.

import type { CommandDone, CommandStart } from '../../command.ts'
import { KubeError } from '../../kube/kube-error.ts'
import { clusterPlace, placeOf, readStops, writeStop } from './stop-place.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const { kube, who, why } = start
  const place = await placeOf(start)
  const stopped = (await readStops(kube, place)).filter(({ stop }) => stop !== undefined)
  const before = stopped[0]?.stop
  await writeStop(
    kube,
    stopped.map(({ name }) => name),
    null,
  )
  const further = place.namespace === undefined ? [] : await clusterStopLines(start)
  const reasons = stopped.map(({ name, stop = '' }) => `${stopped.length > 1 ? `${name}: ` : ''}${stop}`)
  const reasonText = reasons.every((reason) => reason === '') ? '' : ` (it was stopped: ${reasons.join('; ')})`
  return {
    lines: [
      before === undefined
        ? `${place.title} was not stopped`
        : `${place.title} is resumed by ${who}: Disruptions may be created again${reasonText}`,
      ...(place.note === undefined ? [] : [place.note]),
      ...further,
    ],
    data: {
      namespace: place.namespace ?? null,
      asked: before === undefined ? 'asked before' : 'asked',
      by: who,
      why: why ?? null,
      before: before ?? null,
    },
    exitCode: 0,
  }
}

/** The cluster's stop also applies to a namespace. */
async function clusterStopLines(start: CommandStart): Promise<readonly string[]> {
  try {
    const place = await clusterPlace(start)
    const stopped = (await readStops(start.kube, place)).find(({ stop }) => stop !== undefined)
    if (stopped === undefined) return []
    const { stop = '' } = stopped
    return [
      `the whole cluster is still stopped${stop === '' ? '' : `: ${stop}`}; to lift that stop, run: pawl chaos resume ${place.flags}`,
    ]
  } catch (error) {
    // Without that namespace no stop exists in it.
    if (!(error instanceof KubeError)) return []
    // A user with rights in one namespace only must be able to lift its stop.
    return [`the stop of the whole cluster cannot be read: ${error.message}`]
  }
}
