// Names of objects for the shell: from the journal (a database, or `pawl api`) or, where that is not at hand, from the API server; and of the items of an
// object, from the API server. Whatever goes wrong, there are none: a shell shows no errors between two keys.

import type { ObjectList } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { kindNamed } from '../query/object-name.ts'
import { asking, type AskFlags } from '../query/open-journal.ts'
import { asPerson } from '../user.ts'
import { readTree } from '../steer/live-tree.ts'
import { readObject, steeredKinds, steeredNamed } from '../steer/open-object.ts'
import { partsBelow } from '../steer/item-names.ts'

const MOST_MS = 2000
const MOST_NAMES = '500'

/** Values of flags, by their long names. */
type Given = Readonly<Record<string, string>>

export async function objectNames(kind: string, given: Given): Promise<readonly string[]> {
  const flags = flagsOf(given)
  // The limit is for those who answer: to load what asks them is not their time.
  if (flags.apiUrl === undefined && flags.apiService === undefined)
    await Promise.all([
      import('../../../activities/journal/read/reader.ts'),
      import('../../../activities/journal/read/queries.ts'),
    ])
  return (await inTime(fromJournal(kind, flags))) ?? (await inTime(fromCluster(kind, flags))) ?? []
}

/** @param words that mean the object. */
export async function itemNames(words: readonly string[], act: string, given: Given): Promise<readonly string[]> {
  return (await inTime(itemsFromCluster(words, act, flagsOf(given)))) ?? []
}

function flagsOf(given: Given): AskFlags {
  return {
    cluster: given['--cluster'] ?? 'local',
    ...(given['--namespace'] !== undefined && { namespace: given['--namespace'] }),
    ...(given['--context'] !== undefined && { context: given['--context'] }),
    ...(given['--kubeconfig'] !== undefined && { kubeconfig: given['--kubeconfig'] }),
    ...(given['--database-url'] !== undefined && { databaseUrl: given['--database-url'] }),
    ...(given['--api-url'] !== undefined && { apiUrl: given['--api-url'] }),
    ...(given['--api-service'] !== undefined && { apiService: given['--api-service'] }),
    ...(given['--data-dir'] !== undefined && { dataDir: given['--data-dir'] }),
  }
}

async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), MOST_MS)
  })
  const found = await Promise.race([answer.catch(() => undefined), late])
  clearTimeout(timer)
  return found
}

async function fromJournal(kind: string, flags: AskFlags): Promise<readonly string[]> {
  return await asking(flags, async (asked) => {
    const objects = await asked.listNames(kindNamed(kind, asked.kinds), asked.namespace)
    return objects.map(({ name }) => name)
  })
}

async function fromCluster(kind: string, flags: AskFlags): Promise<readonly string[]> {
  const { api } = steeredNamed([kind, 'any']).kind
  return await asPerson(flags, async (kube, namespace) => {
    const path = resourcePath(api, namespace)
    const { items } = await kube.request<ObjectList>('GET', path, { query: { limit: MOST_NAMES } })
    return items.map(({ metadata }) => metadata.name)
  })
}

async function itemsFromCluster(words: readonly string[], act: string, flags: AskFlags): Promise<readonly string[]> {
  if (act !== 'retry' && act !== 'skip') return []
  const { kind, name } = steeredNamed(words)
  return await asPerson(flags, async (kube, namespace) => {
    const object = await readObject(kube, kind, namespace, name)
    if (object === undefined) return []
    const kinds = steeredKinds().filter(({ group }) => group === kind.group)
    return partsBelow(await readTree(kube, { kind, object }, kinds), act).map(({ called }) => called)
  })
}
