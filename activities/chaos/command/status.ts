// `pawl chaos status`: shows emergency stops, Disruptions, and the steps that resolve stuck ones.

import { tableLines } from '../../../workflows/kit/index.ts'
import { namespaceView, type NamespaceView } from '../../../workflows/chaos/emergency-stop.ts'
import type { CommandDone, CommandStart } from '../../command.ts'
import type { KubeClient } from '../../kube/client.ts'
import { KubeError } from '../../kube/kube-error.ts'
import { readPages } from '../../kube/pages.ts'
import { type DisruptionSummary, readDisruptions, stuckLines } from './disruptions.ts'
import { clusterPlace, placeOf, readStops, type StopPlace } from './stop-place.ts'
import { STUCK } from './stop.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const { kube } = start
  const [place, cluster] = await Promise.all([placeOf(start), clusterPlace(start)])
  const [stops, found] = await Promise.all([stopsAt(kube, place, cluster), readDisruptions(kube, place.namespace)])
  const stuck = found.filter(({ isStuck }) => isStuck)
  return {
    lines: [
      ...(stops.length === 0 ? [`${place.title} has no emergency stop`] : stops.map((one) => stopLine(one, cluster))),
      ...(found.length === 0 ? [`no disruptions in ${place.title}`] : tableOf(found)),
      ...found.flatMap(({ title, message }) => (message === undefined ? [] : [`${title}: ${message}`])),
      ...stuck.flatMap(stuckLines),
      ...(cluster.note === undefined ? [] : [cluster.note]),
    ],
    data: { stops, disruptions: found },
    exitCode: stuck.length > 0 ? STUCK : 0,
  }
}

/** The stops that apply to the place. @throws if they cannot be read. */
async function stopsAt(
  kube: Pick<KubeClient, 'request'>,
  place: StopPlace,
  cluster: StopPlace,
): Promise<readonly NamespaceView[]> {
  const views: NamespaceView[] = []
  if (place.namespace === undefined) {
    const pages = readPages(kube, '/api/v1/namespaces', { limit: undefined })
    for await (const { items } of pages) views.push(...items.map(namespaceView))
  } else {
    views.push(...(await readStops(kube, place)))
    const above = await readStops(kube, cluster).catch((error: unknown) => {
      // A user who may read one namespace only sees its stop.
      if (error instanceof KubeError && error.status !== 403) throw error
      return []
    })
    views.push(...above)
  }
  return views.filter(({ stop }) => stop !== undefined)
}

function stopLine({ name, stop = '' }: NamespaceView, { names, flags: all }: StopPlace): string {
  const isAll = names.includes(name)
  const title = isAll ? 'the whole cluster' : `namespace ${name}`
  const flags = isAll ? all : `-n ${name}`
  return `${title} is stopped${stop === '' ? '' : `: ${stop}`}; to lift the stop, run: pawl chaos resume ${flags}`
}

function noteOf({ isStuck, isDeleting, isUndone, simulated }: DisruptionSummary): string {
  if (isStuck) return 'stuck'
  if (isDeleting) return isUndone ? 'undone' : 'being undone'
  return simulated === 0 ? '' : `${simulated} simulated`
}

function tableOf(found: readonly DisruptionSummary[]): readonly string[] {
  return tableLines([
    ['DISRUPTION', 'STATUS', 'INJECTED', ''],
    ...found.map((one) => [one.title, one.injectionStatus ?? '-', `${one.injected} of ${one.desired}`, noteOf(one)]),
  ])
}
