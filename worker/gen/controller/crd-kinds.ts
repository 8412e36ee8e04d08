// Kinds that others define, for documents about them: a file of CustomResourceDefinitions, held against as the API server does.

import type { KindLookup } from '../../../workflows/kit/dsl/index.ts'
import { readCrdFile } from '../crd-types/crd-file.ts'
import { type Problem, problemText } from '../crd-types/problems.ts'
import { schemaFacts } from './schema-facts.ts'

/** What the file says of its kinds, or all that is wrong with it, as lines for people. `file` is its name for them. */
export function crdKinds(
  text: string,
  file: string,
): { readonly lookup: KindLookup } | { readonly complaints: readonly string[] } {
  const { versions, problems } = readCrdFile(text)
  if (problems.length > 0) return { complaints: problems.map((problem: Problem) => problemText(file, problem)) }
  return {
    lookup: ({ groupVersion, kind }) => {
      const found = versions.find(
        (version) => `${version.group}/${version.version}` === groupVersion && version.kind === kind,
      )
      return found && schemaFacts(found.schema, found)
    },
  }
}
