// `pawl chaos resume`: lifts an emergency stop, and tells of another one that holds all the same.

import type { CommandDone, CommandStart } from '../../command.ts'
import { KubeError } from '../../kube/kube-error.ts'
import { clusterPlace, placeOf, readStops, writeStop } from './stop-place.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const { kube, who, why } = start
  const place = await placeOf(start)
  const held = (await readStops(kube, place)).filter(({ stop }) => stop !== undefined)
  const before = held[0]?.stop
  await writeStop(
    kube,
    held.map(({ name }) => name),
    null,
  )
  const further = place.namespace === undefined ? [] : await tellCluster(start)
  const reasons = held.map(({ name, stop = '' }) => `${held.length > 1 ? `${name}: ` : ''}${stop}`)
  const said = reasons.every((reason) => reason === '') ? '' : ` (it was stopped: ${reasons.join('; ')})`
  return {
    lines: [
      before === undefined
        ? `${place.title} was not stopped`
        : `${place.title} goes on, by ${who}: disruptions may be made again${said}`,
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

/** Of a namespace: the stop of the whole cluster is above it. */
async function tellCluster(start: CommandStart): Promise<readonly string[]> {
  try {
    const place = await clusterPlace(start)
    const held = (await readStops(start.kube, place)).find(({ stop }) => stop !== undefined)
    if (held === undefined) return []
    const { stop = '' } = held
    return [
      `the whole cluster is stopped still${stop === '' ? '' : `: ${stop}`}; lift that: pawl chaos resume ${place.flags}`,
    ]
  } catch (error) {
    // Without that namespace nothing is stopped in it.
    if (!(error instanceof KubeError)) return []
    // Who may read his own namespace alone is not kept from lifting its stop.
    return [`whether the whole cluster is stopped cannot be told: ${error.message}`]
  }
}
