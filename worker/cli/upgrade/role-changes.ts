// Compares the rules of two Roles or ClusterRoles. Pure.

import { isFields } from '../../../workflows/kit/index.ts'

export interface RoleChanges {
  /** Such as `create pods`, `get secrets "content-key"` or `list deployments.apps`. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

/** @param live and @param next manifests of a Role or ClusterRole. */
export function roleChanges(live: Fields, next: Fields): RoleChanges {
  const [before, after] = [permissionsOf(live), permissionsOf(next)]
  return {
    added: [...after].filter((one) => !before.has(one)),
    removed: [...before].filter((one) => !after.has(one)),
  }
}

/** One text for each verb of each resource: roles may divide the same permissions into other rules. */
function permissionsOf({ rules }: Fields): ReadonlySet<string> {
  const found = (Array.isArray(rules) ? rules.filter(isFields) : []).flatMap((rule) => {
    const names = textsIn(rule, 'resourceNames')
    const suffixes = names.length === 0 ? [''] : names.map((name) => ` "${name}"`)
    const places = [
      ...textsIn(rule, 'apiGroups').flatMap((group) =>
        textsIn(rule, 'resources').map((resource) => resourceText(resource, group)),
      ),
      ...textsIn(rule, 'nonResourceURLs'),
    ]
    return textsIn(rule, 'verbs').flatMap((verb) =>
      places.flatMap((place) => suffixes.map((suffix) => `${verb} ${place}${suffix}`)),
    )
  })
  return new Set(found)
}

function resourceText(resource: string, group: string): string {
  const [plural = '', subresource] = resource.split('/')
  return `${plural}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
}

function textsIn(rule: Fields, key: string): readonly string[] {
  const found = rule[key]
  return Array.isArray(found) ? found.map(String) : []
}
