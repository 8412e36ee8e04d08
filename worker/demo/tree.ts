// Reads the tree of an Installation from the API server and draws it for a terminal.

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'

const API = 'landscaper.gardener.cloud/v1alpha1'
const FINAL = ['Succeeded', 'Failed', 'DeleteFailed']
const ITEM_NAME_LABEL = 'execution.landscaper.gardener.cloud/name'

export interface Status {
  readonly phase?: string
  readonly jobID?: string
  readonly jobIDFinished?: string
  readonly lastError?: { readonly reason?: string; readonly message?: string }
}

export interface Node {
  readonly kind: 'Installation' | 'Execution' | 'DeployItem'
  readonly name: string
  readonly status: Status
  readonly deleting: boolean
  readonly dependsOn: readonly string[]
  readonly children: readonly Node[]
}

/** Reads Installation, Execution and deploy items; undefined if the Installation does not exist. */
export async function readTree(kube: KubeClient, namespace: string, name: string): Promise<Node | undefined> {
  const [installations, executions, items] = await Promise.all(
    ['installations', 'executions', 'deployitems'].map(async (plural) => {
      const list = await kube.request<{ items: KubeObject[] }>(
        'GET',
        resourcePath({ apiVersion: API, plural }, namespace),
      )
      return list.items
    }),
  )
  const root = installations?.find(({ metadata }) => metadata.name === name)
  if (root === undefined) return undefined
  const ownedBy = (owner: KubeObject, objects: readonly KubeObject[] = []) =>
    objects.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid))
  const children = ownedBy(root, executions).map((execution) => {
    const owned = ownedBy(execution, items).map((item) => nodeOf('DeployItem', item, []))
    return nodeOf('Execution', execution, inOrder(owned))
  })
  return nodeOf('Installation', root, children)
}

/** True if a job other than the earlier one has ended. */
export function isFinished({ status }: Node, earlierJob: string | undefined): boolean {
  const { phase = '', jobID, jobIDFinished } = status
  return FINAL.includes(phase) && jobID !== undefined && jobID === jobIDFinished && jobID !== earlierJob
}

/** One line per object, indented by depth; objects that the root's job has not reached are marked. */
export function draw(root: Node): readonly string[] {
  return drawNode(root, 0, root.status.jobID)
}

function drawNode(node: Node, depth: number, jobID: string | undefined): readonly string[] {
  const { kind, name, status, deleting, dependsOn } = node
  const notes = [
    ...(status.phase !== undefined && status.jobID !== jobID ? ['in an earlier job'] : []),
    ...(deleting ? ['deleting'] : []),
    ...(dependsOn.length > 0 ? [`after ${dependsOn.join(', ')}`] : []),
  ]
  const note = notes.length === 0 ? '' : `  (${notes.join('; ')})`
  const label = `${'  '.repeat(depth)}${kind} ${name}`
  const line = `${label.padEnd(40)} ${status.phase ?? '-'}${note}`
  return [line, ...node.children.flatMap((child) => drawNode(child, depth + 1, jobID))]
}

function nodeOf(kind: Node['kind'], object: KubeObject, children: readonly Node[]): Node {
  const { metadata } = object
  const dependsOn = metadata.annotations?.['execution.landscaper.gardener.cloud/dependsOn']
  return {
    kind,
    name: kind === 'DeployItem' ? (metadata.labels?.[ITEM_NAME_LABEL] ?? metadata.name) : metadata.name,
    status: object['status'] ?? {},
    deleting: metadata.deletionTimestamp !== undefined,
    dependsOn: dependsOn === undefined ? [] : dependsOn.split(',').filter((item) => item !== ''),
    children,
  }
}

/** Sorts items after their dependencies; items of a cycle keep their order. */
function inOrder(items: readonly Node[]): readonly Node[] {
  const placed: Node[] = []
  let rest = [...items].sort((a, b) => a.name.localeCompare(b.name))
  while (rest.length > 0) {
    const names = new Set(rest.map(({ name }) => name))
    const free = rest.filter(({ dependsOn }) => !dependsOn.some((name) => names.has(name)))
    const next = free.length === 0 ? rest : free
    placed.push(...next)
    rest = rest.filter((item) => !next.includes(item))
  }
  return placed
}
