// What `pawl doctor` finds of `pawl api`, where that is asked in place of the database.

import { type About, aboutIn } from '../../api/wire.ts'
import { PAWL_VERSION } from '../../server/version.ts'
import { failureText } from '../ask/open-journal.ts'
import { questionsOver } from '../ask/questions-over.ts'
import { shown } from '../ask/texts.ts'
import { type ApiPlace, type OpenApi, placeText } from '../api-place.ts'
import { clockFinding, type Finding } from './findings.ts'

export async function apiFindings(place: ApiPlace, api: OpenApi, cluster: string): Promise<readonly Finding[]> {
  const found: Finding[] = []
  try {
    await api.about()
    // A second time: what a first answer took says nothing of the clock.
    const before = Date.now()
    const about = aboutIn(await api.about())
    const after = Date.now()
    found.push(
      versionFinding(place, about),
      clockFinding('of pawl api', (before + after) / 2 - about.at.getTime(), after - before),
      { part: 'identity', verdict: 'ok', text: whoText(about) },
      clusterFinding(about, cluster),
    )
    const kinds = await questionsOver(api.ask).followedKinds()
    return [...found, kindsFinding(kinds.length, about)]
  } catch (error) {
    const text = `${failureText(error)}; expected a pawl api that takes you`
    return [...found, { part: found.length === 0 ? 'api' : 'journal', verdict: 'bad', text }]
  }
}

function versionFinding(place: ApiPlace, { version }: About): Finding {
  const text = `${placeText(place)} answers: Pawl ${shown(version, 50)}`
  if (version === PAWL_VERSION) return { part: 'api', verdict: 'ok', text }
  return { part: 'api', verdict: 'warn', text: `${text}, and this is ${PAWL_VERSION}; expected the same` }
}

const MOST_GROUPS = 10

function whoText({ username, groups }: About): string {
  const named = groups.slice(0, MOST_GROUPS).map((group) => shown(group, 100))
  const more = groups.length > MOST_GROUPS ? ` and ${groups.length - MOST_GROUPS} more` : ''
  return `it takes you for ${shown(username, 200)}${named.length === 0 ? '' : `, of ${named.join(', ')}${more}`}`
}

function clusterFinding(about: About, cluster: string): Finding {
  const text = `it answers for cluster ${shown(about.cluster, 200)}`
  if (about.cluster === cluster) return { part: 'cluster', verdict: 'ok', text }
  return { part: 'cluster', verdict: 'warn', text: `${text}, expected ${cluster} (see --cluster)` }
}

function kindsFinding(count: number, { cluster }: About): Finding {
  if (count > 0) return { part: 'journal', verdict: 'ok', text: `it answers; kinds that are followed: ${count}` }
  const text = `it answers, and has no kind of cluster ${shown(cluster, 200)}; expected those that a bridge follows`
  return { part: 'journal', verdict: 'bad', text }
}
