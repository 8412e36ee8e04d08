// Values of imports and exports held against the schemas of a blueprint. Source: spec/landscaper.md 3.3, 3.4, 3.11.

import { BlueprintError, joinProblems } from './blueprint-error.ts'
import type { Blueprint } from './blueprint.ts'
import type { TemplateEngine } from './template-engine.ts'

export interface ValueCheck {
  /** Names the value in messages, e.g. `import a`. */
  readonly what: string
  readonly schema: unknown
  readonly value: unknown
  readonly isDefault?: boolean
}

/**
 * Everything that is wrong with the values, each problem naming its value; empty when nothing is.
 *
 * @throws BlueprintError `NotSupported` for references to components; `InvalidDefaultValue` for all wrong defaults together.
 */
export async function findViolations(
  engine: TemplateEngine,
  { localTypes, files }: Pick<Blueprint, 'localTypes' | 'files'>,
  checks: readonly ValueCheck[],
): Promise<readonly string[]> {
  const [problems, ofDefaults]: [string[], string[]] = [[], []]
  for (const { what, schema, value, isDefault = false } of checks) {
    const report = await engine.checkSchema({ what, schema, value, localTypes, files })
    const [reference] = report.unsupported
    if (reference !== undefined) {
      const text = `${what}: the schema refers to ${reference}, which is not supported yet, expected local:// or blueprint://`
      throw new BlueprintError('NotSupported', text)
    }
    const found = isDefault ? ofDefaults : problems
    found.push(...report.problems.map((problem) => `${what}: ${problem}`))
  }
  if (ofDefaults.length > 0) throw new BlueprintError('InvalidDefaultValue', joinProblems(ofDefaults))
  return problems
}
