// Manifests of the roles with given rights: ClusterRoles, or Roles in the given namespaces and ClusterRoles for cluster-scoped rights. Pure.

import { writeYaml } from '../../activities/yaml/write-yaml.ts'

import type { AccessRule, LevelDeclaration } from '../../workflows/kit/index.ts'
import { mergeRules } from './access-rules.ts'
import { type Place, type Right, rightsOf } from './level-rbac.ts'

export interface RoleOptions {
  /** The roles are `<prefix>-bridge-<name>` and `<prefix>-worker-<name>`. */
  readonly name: string
  /** Default: pawl. */
  readonly prefix?: string
  /** The namespaces of targets. Empty: all. */
  readonly namespaces: readonly string[]
  /** Binds the roles to the ServiceAccounts `<accountPrefix>-bridge` and `<accountPrefix>-worker` of this namespace. */
  readonly accounts: string | undefined
  /** Default: pawl. */
  readonly accountPrefix?: string
}

interface Role {
  readonly process: Right['process']
  /** Empty: a ClusterRole. */
  readonly namespace: string
  readonly rules: readonly AccessRule[]
}

/** The roles of controllers in level mode. */
export function levelRoles(controllers: readonly LevelDeclaration[], options: RoleOptions): string {
  return rolesOf(
    controllers.flatMap((one) => rightsOf(one)),
    options,
  )
}

/** The manifests, one document each. */
export function rolesOf(rights: readonly Right[], options: RoleOptions): string {
  const roles = (['bridge', 'worker'] as const).flatMap((process) => {
    const own = rights.filter((one) => one.process === process)
    const places = new Set(own.flatMap(({ place }) => namespacesOf(place, options)))
    return [...places].sort().map((namespace): Role => {
      const here = own.filter(({ place }) => namespacesOf(place, options).includes(namespace))
      return { process, namespace, rules: mergeRules(here.map(({ rule }) => rule)) }
    })
  })
  const documents = roles.flatMap((role) => [manifest(role, options), ...binding(role, options)])
  return documents.map((one) => writeYaml(one)).join('---\n')
}

/** An empty namespace stands for the cluster. */
function namespacesOf(place: Place, { namespaces }: RoleOptions): readonly string[] {
  if (place === 'anywhere' || namespaces.length === 0) return ['']
  return place === 'beside the target' ? namespaces : [place.namespace]
}

const nameOf = ({ process }: Role, { name, prefix = 'pawl' }: RoleOptions): string => `${prefix}-${process}-${name}`
const GROUP = 'rbac.authorization.k8s.io'

function manifest(role: Role, options: RoleOptions): object {
  const { namespace, rules } = role
  return {
    apiVersion: `${GROUP}/v1`,
    kind: namespace === '' ? 'ClusterRole' : 'Role',
    metadata: { name: nameOf(role, options), ...(namespace !== '' && { namespace }) },
    rules,
  }
}

function binding(role: Role, options: RoleOptions): readonly object[] {
  const { accounts, accountPrefix = 'pawl' } = options
  if (accounts === undefined) return []
  const { process, namespace } = role
  const name = nameOf(role, options)
  const kind = namespace === '' ? 'ClusterRole' : 'Role'
  return [
    {
      apiVersion: `${GROUP}/v1`,
      kind: `${kind}Binding`,
      metadata: { name, ...(namespace !== '' && { namespace }) },
      roleRef: { apiGroup: GROUP, kind, name },
      subjects: [{ kind: 'ServiceAccount', name: `${accountPrefix}-${process}`, namespace: accounts }],
    },
  ]
}
