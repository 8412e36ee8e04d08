// `pawl chaos resume`: lifts an emergency stop, and tells of another one that holds all the same.

import type { CommandDone, CommandStart } from '../../command.ts'
import { KubeError } from '../../kube/kube-error.ts'
import { CLUSTER, placeOf, readStop, writeStop } from './stop-place.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const { kube, who, why } = start
  const place = placeOf(start)
  const before = await readStop(kube, place)
  if (before !== undefined) await writeStop(kube, place, null)
  const further = place.namespace === undefined ? [] : await tellCluster(start)
  const said = before === undefined || before === '' ? '' : ` (it was stopped: ${before})`
  return {
    lines: [
      before === undefined
        ? `${place.title} was not stopped`
        : `${place.title} goes on, by ${who}: disruptions may be made again${said}`,
      ...further,
    ],
    data: {
      ...{ namespace: place.namespace ?? null, asked: before === undefined ? 'asked before' : 'asked' },
      ...{ by: who, why: why ?? null, before: before ?? null },
    },
    exitCode: 0,
  }
}

/** Of a namespace: the stop of the whole cluster is above it. */
async function tellCluster({ kube }: CommandStart): Promise<readonly string[]> {
  try {
    const stop = await readStop(kube, CLUSTER)
    if (stop === undefined) return []
    return [`the whole cluster is stopped still${stop === '' ? '' : `: ${stop}`}; lift that: pawl chaos resume --all`]
  } catch (error) {
    // Without that namespace nothing is stopped in it.
    if (!(error instanceof KubeError)) return []
    // Who may read his own namespace alone is not kept from lifting its stop.
    return [`whether the whole cluster is stopped cannot be told: ${error.message}`]
  }
}
