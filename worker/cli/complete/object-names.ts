// Reads names of objects for shell completion from the journal or from the API server, and names of items from the API
// server. Errors give no names, because a shell must not print errors during completion.

import type { ObjectList } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { kindNamed } from '../query/object-name.ts'
import { withJournal, type JournalFlags } from '../query/open-journal.ts'
import { withUserClient } from '../user.ts'
import { readTree } from '../steer/live-tree.ts'
import { findControlledKind, findSteeredKind, readObject, steeredKinds } from '../steer/open-object.ts'
import { itemsBelow } from '../steer/item-names.ts'

const MOST_MS = 2000
const MOST_NAMES = '500'

/** Values of flags by their long names. */
type Given = Readonly<Record<string, string>>

export async function objectNames(kind: string, values: Given): Promise<readonly string[]> {
  const flags = flagsOf(values)
  // Loads the modules before the timeout starts, which limits the server's time.
  if (flags.apiUrl === undefined && flags.apiService === undefined)
    await Promise.all([
      import('../../../activities/journal/read/reader.ts'),
      import('../../../activities/journal/read/queries.ts'),
    ])
  return (await inTime(fromJournal(kind, flags))) ?? (await inTime(fromCluster(kind, flags))) ?? []
}

/** @param words the object's words. */
export async function itemNames(words: readonly string[], act: string, values: Given): Promise<readonly string[]> {
  return (await inTime(itemsFromCluster(words, act, flagsOf(values)))) ?? []
}

function flagsOf(values: Given): JournalFlags {
  return {
    cluster: values['--cluster'] ?? 'local',
    ...(values['--namespace'] !== undefined && { namespace: values['--namespace'] }),
    ...(values['--context'] !== undefined && { context: values['--context'] }),
    ...(values['--kubeconfig'] !== undefined && { kubeconfig: values['--kubeconfig'] }),
    ...(values['--database-url'] !== undefined && { databaseUrl: values['--database-url'] }),
    ...(values['--api-url'] !== undefined && { apiUrl: values['--api-url'] }),
    ...(values['--api-service'] !== undefined && { apiService: values['--api-service'] }),
    ...(values['--data-dir'] !== undefined && { dataDir: values['--data-dir'] }),
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

async function fromJournal(kind: string, flags: JournalFlags): Promise<readonly string[]> {
  return await withJournal(flags, async (journal) => {
    const objects = await journal.listNames(kindNamed(kind, journal.kinds), journal.namespace)
    return objects.map(({ name }) => name)
  })
}

async function fromCluster(kind: string, flags: JournalFlags): Promise<readonly string[]> {
  const { apiVersion, plural } = findControlledKind([kind, 'any']).kind
  return await withUserClient(flags, async (kube, namespace) => {
    const path = resourcePath({ apiVersion, plural }, namespace)
    const { items } = await kube.request<ObjectList>('GET', path, { query: { limit: MOST_NAMES } })
    return items.map(({ metadata }) => metadata.name)
  })
}

async function itemsFromCluster(
  words: readonly string[],
  act: string,
  flags: JournalFlags,
): Promise<readonly string[]> {
  if (act !== 'retry' && act !== 'skip') return []
  const { kind, name } = findSteeredKind(words)
  return await withUserClient(flags, async (kube, namespace) => {
    const object = await readObject(kube, kind, namespace, name)
    if (object === undefined) return []
    const kinds = steeredKinds().filter(({ group }) => group === kind.group)
    return itemsBelow(await readTree(kube, { kind, object }, kinds), act).map(({ path: called }) => called)
  })
}
