// Finds the root Installations that import given objects, for `pawl plan -f`.

import { ENCOMPASSED_BY_LABEL } from '../../../workflows/landscaper/contract.ts'
import { importedNames, readFlow } from '../../../workflows/landscaper/data-flow.ts'
import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { fieldsOf, listOf, textOf } from '../../../workflows/landscaper/json-fields.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { configMapResource, secretResource } from '../../kube/core-kinds.ts'
import { readAll } from '../../kube/pages.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import type { Importer } from '../../run/preview.ts'
import { dataObjectName, ROOT_CONTEXT } from '../render/names.ts'

const PAGE = 500
const IMPORTABLE = [dataObjectKind, targetKind, secretResource, configMapResource]

/** @throws KubeError if the caller cannot list Installations. */
export async function importersOf(
  { kube }: Pick<Deps, 'kube'>,
  namespace: string,
  objects: readonly KubeObject[],
): Promise<readonly Importer[]> {
  const importable = new Set(
    objects
      .filter(({ apiVersion, kind }) => IMPORTABLE.some((one) => one.apiVersion === apiVersion && one.kind === kind))
      .map(({ kind = '', metadata }) => `${kind} ${metadata.name}`),
  )
  if (importable.size === 0) return []
  const installations = await readAll(kube, resourcePath(installationKind, namespace), { limit: PAGE })
  const { kind } = installationKind
  return installations
    .filter(({ metadata }) => metadata.labels?.[ENCOMPASSED_BY_LABEL] === undefined)
    .flatMap((one) => {
      const imports = importsOf(one).filter((name) => importable.has(name))
      return imports.length === 0 ? [] : [{ kind, namespace, name: one.metadata.name, imports }]
    })
}

/** The objects that a root imports, as kind and name. An invalid spec imports nothing. */
function importsOf({ spec }: KubeObject): readonly string[] {
  const fields = fieldsOf(spec)
  const shared = importedNames(readFlow(fields)).map((one) => {
    const [kind, name = ''] = one.split(' ')
    return `${kind === 'data' ? dataObjectKind.kind : targetKind.kind} ${dataObjectName(ROOT_CONTEXT, name)}`
  })
  const keyed = listOf(fieldsOf(fields['imports'])['data']).flatMap((one) => {
    const { secretRef, configMapRef } = fieldsOf(one)
    return [
      `${secretResource.kind} ${textOf(fieldsOf(secretRef)['name'])}`,
      `${configMapResource.kind} ${textOf(fieldsOf(configMapRef)['name'])}`,
    ]
  })
  return [...new Set([...shared, ...keyed])]
}
