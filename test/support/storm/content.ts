// The content of an Installation whose users change it at random (lives.ts): mock items with the imported values, sometimes a manifest item and a sub-installation; and the check of its objects
// at the end.

import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { blueprintOf, type Cluster, item, type Item, type LsObject } from '../cluster/cluster.ts'
import { dataObject } from '../landscaper/imports.ts'
import { configMap, createTarget, manifestItem, TARGET_TYPE } from '../landscaper/manifests.ts'
import { deploying, sub, subsOf } from '../landscaper/sub-installations.ts'

export interface Content {
  readonly items: readonly Item[]
  /** A ConfigMap on the Target. */
  readonly note: { readonly name: string; readonly text: string } | undefined
  /** The item of the sub-installation. */
  readonly inner: Item | undefined
}

const [WORD, SHOWN] = ['weather', '{{ .imports.word }}']
const NOTE = 'note'
const INNER = 'inner'
export const IMPORTS = {
  data: [{ name: 'word', dataRef: 'word' }],
  targets: [{ name: 'here', target: 'here' }],
}

/** Creates the objects that all Installations of a lane import. */
export async function createImports(cluster: Cluster): Promise<void> {
  await createTarget(cluster)
  await cluster.create(dataObject('word', WORD), 'dataobjects')
}

/** @param noteName of no other content, so that each note is created once. @param hasAll whether nothing is left out. */
export function drawContent(random: () => number, noteName: string, hasAll: boolean): Content {
  const config = () => ({ providerStatus: { apiVersion: 'v1', kind: 'Status', key: String(random()), word: SHOWN } })
  const count = 1 + Math.floor(random() * 3)
  const items = Array.from({ length: count }, (_, index) => {
    const dependsOn = index > 0 && random() < 0.5 ? [`item-${index - 1}`] : []
    return { name: `item-${index}`, dependsOn, config: config() }
  })
  return {
    items,
    note: hasAll || random() < 0.3 ? { name: noteName, text: String(random()) } : undefined,
    inner:
      hasAll || random() < 0.15
        ? { name: 'deep', config: { providerStatus: { apiVersion: 'v1', kind: 'Status', key: String(random()) } } }
        : undefined,
  }
}

export function blueprintWith({ items, note, inner }: Content, namespace: string): string {
  const applied = (name: string, text: string) => ({
    ...manifestItem({ name: NOTE, manifests: [configMap(name, namespace, { text })] }),
    target: { import: 'here' },
  })
  const deployItems = [...items.map(item), ...(note === undefined ? [] : [applied(note.name, note.text)])]
  const blueprint = blueprintOf([], {
    imports: [
      { name: 'word', type: 'data', schema: { type: 'string' } },
      { name: 'here', type: 'target', targetType: TARGET_TYPE },
    ],
    deployExecutions: [{ name: 'default', type: 'GoTemplate', template: JSON.stringify({ deployItems }) }],
    ...(inner !== undefined && { subinstallations: [sub(INNER, { blueprint: deploying(inner) })] }),
  })
  return JSON.stringify(blueprint)
}

/** Differences between an Installation and its last change, one sentence each. */
export async function wrongOf(cluster: Cluster, name: string, content: Content): Promise<readonly string[]> {
  const { items, note, inner } = content
  const found = await cluster.items(name)
  const wanted = [...items.map((one) => one.name), ...(note === undefined ? [] : [NOTE])].sort().join()
  const names = [...found.keys()].sort().join()
  if (names !== wanted) return [`${name} has the items ${names}, expected ${wanted}`]
  const wrong = [...found].flatMap(([one, { status }]) =>
    status?.phase === 'Succeeded' ? [] : [`item ${one} of ${name} is ${status?.phase}`],
  )
  return [...wrong, ...wrongConfigs(name, items, found), ...(await wrongInner(cluster, name, inner))]
}

function wrongConfigs(owner: string, wanted: readonly Item[], found: ReadonlyMap<string, LsObject>): readonly string[] {
  return wanted.flatMap((one) => {
    const config = found.get(one.name)?.spec?.['config']
    const expected: unknown = JSON.parse(JSON.stringify(item(one).config).replaceAll(SHOWN, WORD))
    if (isDeepStrictEqual(config, expected)) return []
    return [`item ${one.name} of ${owner} has ${JSON.stringify(config)}, not what was written last`]
  })
}

async function wrongInner(cluster: Cluster, name: string, inner: Item | undefined): Promise<readonly string[]> {
  const subs = await subsOf(cluster, name)
  const templates = [...subs.keys()].join()
  if (templates !== (inner === undefined ? '' : INNER)) return [`${name} has the sub-installations "${templates}"`]
  const one = subs.get(INNER)
  if (one === undefined || inner === undefined) return []
  const { metadata, status } = one
  if (status?.phase !== 'Succeeded') return [`the sub-installation of ${name} is ${status?.phase}`]
  return wrongConfigs(metadata.name, [inner], await cluster.items(metadata.name))
}

/** Missing, different and unexpected objects on the Target. */
export async function wrongNotes(cluster: Cluster, contents: readonly Content[]): Promise<readonly string[]> {
  const wanted = new Map(contents.flatMap(({ note }) => (note === undefined ? [] : [[note.name, note.text] as const])))
  const all: readonly KubeObject[] = await cluster.list('configmaps', 'v1')
  const found = new Map(
    all
      // Every namespace has one of its authority.
      .filter(({ metadata }) => metadata.name.startsWith(NOTE))
      .map(({ metadata, data }) => [metadata.name, (data as { text?: string } | undefined)?.text]),
  )
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((name) =>
    wanted.get(name) === found.get(name) ? [] : [`the note ${name} is ${found.get(name)}, not ${wanted.get(name)}`],
  )
}

export function noteName(life: string, change: number): string {
  return `${NOTE}-${life}-${change}`
}
