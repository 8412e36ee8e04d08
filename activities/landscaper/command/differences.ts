// The differences between Pawl and Landscaper that a cluster's objects show, as facts and as checks. Pure.
//
//   D1. Each fact is quoted from docs/reference/landscaper-differences.md; a test compares them.
//   D2. A check reads the objects only. Differences that depend on registries, Secrets or other clusters are not found.

import type { KubeObject } from '../../kube/client.ts'
import { fieldsOf, isFields, listOf, textOf } from '../../../workflows/kit/index.ts'
import { isTypeBuiltIn } from '../../../workflows/landscaper/deploy-item/handled-types.ts'
import { LOCAL_ACCESS, OCI_ACCESS } from '../access-types.ts'

/** `unsupported`: the job fails or no deployer starts. `different`: the job succeeds with another effect. `wait`: not now. */
export type Effect = 'unsupported' | 'different' | 'wait'

export interface FoundDifference {
  readonly effect: Effect
  /** The object with the difference: `deployitem "team-a/x"`. */
  readonly object: string
  readonly text: string
  /** Null for a step of the migration. */
  readonly fact: string | null
}

export const FACTS = {
  deployers: 'The Helm and container deployers.',
  pickup: 'The pickup time-out applies to other deployers and to items of Executions.',
  oidc: 'Targets with `oidcConfig` (refused with the field).',
  repository: 'repository contexts of type `inline` (refused with the field).',
  access: 'Access to resources other than in registries and next to the component;',
  address:
    'Targets and registries may lead to loopback, link-local and plain http only if `--target-allow` lists them.',
  owner: 'a plain owner reference does not make it a sub-installation.',
  signatures:
    'It refuses contents that are excluded from the signature (`NO-DIGEST`), keys under 2048 bits, keys in other namespaces, and unsigned overwrites.',
  fields: 'Fields that the manifest does not set and another field manager owns **stay**',
  targetSync: '[TargetSync](../guides/target-sync.md) needs `--target-sync yes`.',
  contexts:
    'The `default` Context of each namespace exists only with [`--default-contexts yes`](../guides/default-contexts.md)',
  health: '`LsHealthCheck` and `CriticalProblems`, if you set their flags',
} as const

const PREFIX = 'landscaper.gardener.cloud/'
const MISSING_DEPLOYERS = [`${PREFIX}helm`, `${PREFIX}container`]

export function titleOf({ kind, metadata }: KubeObject): string {
  return `${(kind ?? '').toLowerCase()} "${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}"`
}

export function installationDifferences(installation: KubeObject): readonly FoundDifference[] {
  const object = titleOf(installation)
  const [spec, status] = [fieldsOf(installation['spec']), fieldsOf(installation['status'])]
  const descriptor = fieldsOf(spec['componentDescriptor'])
  const found: FoundDifference[] = []
  if (textOf(status['jobID']) !== textOf(status['jobIDFinished']))
    found.push({
      effect: 'wait',
      object,
      text: `a job runs (phase "${textOf(status['phase'])}"); wait for its end before you stop Landscaper`,
      fact: null,
    })
  const owners = listOf(installation.metadata.ownerReferences).map(fieldsOf)
  if (owners.some(({ kind, controller }) => kind === 'Installation' && controller !== true))
    found.push({
      effect: 'different',
      object,
      text: 'metadata.ownerReferences: an Installation owns the object without "controller: true"; Pawl treats the object as a root',
      fact: FACTS.owner,
    })
  const repository = fieldsOf(fieldsOf(descriptor['ref'])['repositoryContext'])
  found.push(...repositoryDifferences(object, 'spec.componentDescriptor.ref.repositoryContext', repository))
  found.push(...accessDifferences(object, fieldsOf(fieldsOf(descriptor['inline'])['component'])))
  if (isFields(spec['verification']))
    found.push({
      effect: 'different',
      object,
      text: 'spec.verification: Pawl verifies contents when it reads them, and refuses keys under 2048 bits and contents without a digest',
      fact: FACTS.signatures,
    })
  return found
}

function repositoryDifferences(object: string, field: string, repository: object): readonly FoundDifference[] {
  const type = withoutVersion(textOf(fieldsOf(repository)['type']))
  if (type !== 'inline') return []
  const text = `${field}.type: "inline" is not supported; use a registry or a folder`
  return [{ effect: 'unsupported', object, text, fact: FACTS.repository }]
}

function accessDifferences(object: string, component: Readonly<Record<string, unknown>>): readonly FoundDifference[] {
  const known = new Set([...LOCAL_ACCESS, ...Object.keys(OCI_ACCESS)])
  return listOf(component['resources']).flatMap((one, index): readonly FoundDifference[] => {
    const type = textOf(fieldsOf(fieldsOf(one)['access'])['type'])
    if (type === '' || known.has(withoutVersion(type))) return []
    const field = `spec.componentDescriptor.inline.component.resources[${index}].access.type`
    const text = `${field}: "${type}" is not supported; expected ${[...known].join(', ')}`
    return [{ effect: 'unsupported', object, text, fact: FACTS.access }]
  })
}

export function itemDifferences(item: KubeObject): readonly FoundDifference[] {
  const type = textOf(fieldsOf(item['spec'])['type'])
  if (isTypeBuiltIn(type)) return []
  const object = titleOf(item)
  if (MISSING_DEPLOYERS.includes(type))
    return [
      {
        effect: 'unsupported',
        object,
        text: `spec.type: Pawl has no deployer for "${type}"; let Landscaper's deployer run, or change the item`,
        fact: FACTS.deployers,
      },
    ]
  return [
    {
      effect: 'different',
      object,
      text: `spec.type: the deployer of "${type}" must continue to run, and pick up each job within --pickup-timeout (default: 5m)`,
      fact: FACTS.pickup,
    },
  ]
}

export function targetDifferences(target: KubeObject): readonly FoundDifference[] {
  const object = titleOf(target)
  const config = fieldsOf(fieldsOf(target['spec'])['config'])
  const found: FoundDifference[] = []
  if (isFields(config['oidcConfig'])) {
    const text = 'spec.config.oidcConfig is not supported; use kubeconfig or selfConfig'
    found.push({ effect: 'unsupported', object, text, fact: FACTS.oidc })
  }
  const server = serverIn(config['kubeconfig'])
  if (server !== undefined && isRefusedAddress(server))
    found.push({
      effect: 'unsupported',
      object,
      text: `spec.config.kubeconfig: the server "${server.origin}" is refused; list it in --target-allow`,
      fact: FACTS.address,
    })
  return found
}

function serverIn(kubeconfig: unknown): URL | undefined {
  const text = typeof kubeconfig === 'string' ? kubeconfig : JSON.stringify(kubeconfig ?? '')
  const [, server = ''] = /"?server"?:\s*["']?([^\s"',}]+)/.exec(text) ?? []
  return URL.parse(server) ?? undefined
}

const LOCAL_HOST = /^(?:localhost|127\.|169\.254\.|\[::1\]|\[fe80:)/i

function isRefusedAddress({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' || LOCAL_HOST.test(hostname)
}

export function contextDifferences(context: KubeObject): readonly FoundDifference[] {
  const object = titleOf(context)
  const signatures = Object.entries(fieldsOf(context['verificationSignatures'])).flatMap(([name, keys]) =>
    Object.entries(fieldsOf(keys)).flatMap(([field, reference]): readonly FoundDifference[] => {
      const namespace = textOf(fieldsOf(reference)['namespace'])
      if (namespace === '' || namespace === context.metadata.namespace) return []
      const path = `verificationSignatures["${name}"].${field}.namespace`
      const text = `${path}: "${namespace}" is another namespace; copy the Secret to the namespace of the Context`
      return [{ effect: 'unsupported', object, text, fact: FACTS.signatures }]
    }),
  )
  return [...repositoryDifferences(object, 'repositoryContext', fieldsOf(context['repositoryContext'])), ...signatures]
}

/** `localBlob/v1` becomes `localBlob`. */
function withoutVersion(type: string): string {
  return type.replace(/\/v[^/]*$/, '')
}

interface ClusterObjects {
  readonly items: readonly KubeObject[]
  readonly contexts: readonly KubeObject[]
  readonly targetSyncs: readonly KubeObject[]
  readonly healthChecks: readonly KubeObject[]
  readonly webhooks: readonly KubeObject[]
}

const MANIFEST_TYPE = `${PREFIX}kubernetes-manifest`
const OUR_WEBHOOK = 'landscaper-validation-webhook'

/** The differences that concern the cluster, not one Installation. */
export function clusterDifferences(objects: ClusterObjects): readonly FoundDifference[] {
  const { items, contexts, targetSyncs, healthChecks, webhooks } = objects
  const count = (some: readonly unknown[], name: string) => `${some.length} ${name}${some.length === 1 ? '' : 's'}`
  const manifests = items.filter((item) => {
    const spec = fieldsOf(item['spec'])
    const strategy = textOf(fieldsOf(spec['config'])['updateStrategy']) || 'update'
    return spec['type'] === MANIFEST_TYPE && ['update', 'patch', 'mergeOverwrite'].includes(strategy)
  })
  const defaults = contexts.filter(({ metadata }) => metadata.name === 'default')
  const foreign = webhooks.filter(({ metadata, ...rest }) => {
    const rules = listOf(rest['webhooks']).flatMap((one) => listOf(fieldsOf(one)['rules']))
    const groups = rules.flatMap((rule) => listOf(fieldsOf(rule)['apiGroups']))
    return groups.includes('landscaper.gardener.cloud') && !metadata.name.startsWith(OUR_WEBHOOK)
  })
  return [
    ...onlyIf(manifests, FACTS.fields, {
      object: count(manifests, 'deploy item'),
      text: 'the manifest deployer keeps fields that other field managers own (spec.config.updateStrategy update, patch, mergeOverwrite)',
    }),
    ...onlyIf(targetSyncs, FACTS.targetSync, {
      object: count(targetSyncs, 'TargetSync'),
      text: 'start the worker with --target-sync yes',
    }),
    ...onlyIf(defaults, FACTS.contexts, {
      object: `${count(defaults, 'Context')} "default"`,
      text: 'new namespaces get a Context only with --default-contexts yes',
    }),
    ...onlyIf(healthChecks, FACTS.health, {
      object: count(healthChecks, 'LsHealthCheck'),
      text: 'Pawl writes the objects only if you set their flags',
    }),
    ...foreign.map(({ metadata }): FoundDifference => ({
      effect: 'wait',
      object: `validatingwebhookconfiguration "${metadata.name}"`,
      text: "delete it after you have stopped Landscaper's webhook",
      fact: null,
    })),
  ]
}

function onlyIf(
  found: readonly unknown[],
  fact: string,
  texts: Pick<FoundDifference, 'object' | 'text'>,
): readonly FoundDifference[] {
  return found.length === 0 ? [] : [{ effect: 'different', ...texts, fact }]
}
