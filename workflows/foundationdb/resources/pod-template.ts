// Completes containers and volumes of a user's Pod template. A value of the user stays; Pawl adds the missing ones. Source:
// spec/foundationdb.md 4.14.

import { fieldsOf, type JsonFields, listOf, textOf } from '../../kit/index.ts'

/** Fields of a container that Pawl sets. */
export interface ContainerParts {
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env: readonly JsonFields[]
  readonly volumeMounts: readonly JsonFields[]
  /** The default of requests; limits are the requests by default. */
  readonly requests: Readonly<Record<string, string>>
  readonly livenessProbe?: JsonFields | undefined
  readonly readinessProbe?: JsonFields | undefined
}

/** The container of this name in a list of the template; only a name if the template lacks it. */
export function containerNamed(containers: unknown, name: string): JsonFields {
  return (
    listOf(containers)
      .map(fieldsOf)
      .find((one) => one['name'] === name) ?? { name }
  )
}

/** The list with this container; a new one is put first, or last. */
export function withContainer(containers: readonly JsonFields[], container: JsonFields): readonly JsonFields[] {
  const isThere = containers.some((one) => one['name'] === container['name'])
  if (!isThere) return [...containers, container]
  return containers.map((one) => (one['name'] === container['name'] ? container : one))
}

export function completedContainer(template: JsonFields, parts: ContainerParts): JsonFields {
  const { requests, env, volumeMounts, livenessProbe, readinessProbe, ...rest } = parts
  const resources = fieldsOf(template['resources'])
  const given = fieldsOf(resources['requests'])
  const wanted = Object.keys(given).length === 0 ? requests : given
  return {
    ...template,
    ...rest,
    env: withNamed(template['env'], env, 'name'),
    resources: { ...resources, requests: wanted, limits: resources['limits'] ?? wanted },
    securityContext: { readOnlyRootFilesystem: true, ...fieldsOf(template['securityContext']) },
    volumeMounts: withNamed(template['volumeMounts'], volumeMounts, 'mountPath'),
    ...probe('livenessProbe', template, livenessProbe),
    ...probe('readinessProbe', template, readinessProbe),
  }
}

/** The user's entries, and Pawl's entries whose key the user does not have. */
export function withNamed(given: unknown, added: readonly JsonFields[], key: string): readonly JsonFields[] {
  const entries = listOf(given).map(fieldsOf)
  const known = new Set(entries.map((one) => textOf(one[key])))
  return [...entries, ...added.filter((one) => !known.has(textOf(one[key])))]
}

function probe(name: string, template: JsonFields, value: JsonFields | undefined): JsonFields {
  return template[name] === undefined && value !== undefined ? { [name]: value } : {}
}
