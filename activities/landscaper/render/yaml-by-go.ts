// Go's own reader as the second opinion on YAML: the npm parser refuses flow collections and quoted texts whose lines are indented less
// than what they stand in, which Go, and so the original, reads. Both have to refuse.
//
//   G1. Go is asked of what our parser complains of, once; what is beyond a bound is refused unasked.
//   G2. What it answers is bounded as any rendering is, and read as any other text.

import type { TenantData } from '../bounded/tenant-data.ts'
import { BlueprintError } from './blueprint-error.ts'
import { TemplateError } from './template-error.ts'
import { YamlSyntaxError } from '../../yaml/read-yaml.ts'

/** The original decodes with the library that is behind `fromYaml` here: sigs.k8s.io/yaml. */
const TO_JSON = '{{ fromYaml .text | mustToJson }}'

/** The part of a template engine in which Go's reader is. */
export interface GoRenderer {
  /** @throws TemplateError */
  render(request: {
    readonly engine: 'GoTemplate'
    readonly name: string
    readonly template: string
    readonly binding: { readonly text: string }
    readonly files: Readonly<Record<string, string>>
  }): Promise<{ readonly output: string }>
}

/** The same data, of which YAML is read that Go reads. */
export function orReadByGo(data: TenantData, engine: GoRenderer): TenantData {
  return {
    ...data,
    async yaml(text, place) {
      try {
        return await data.yaml(text, place)
      } catch (error) {
        const json = await readByGo(engine, text, { error, cause: error })
        // G2
        return await data.yaml(json)
      }
    },
    async definition(text) {
      try {
        return await data.definition(text)
      } catch (error) {
        const cause = error instanceof BlueprintError ? error.cause : undefined
        const json = await readByGo(engine, text, { error, cause })
        return await data.definition(text, json)
      }
    },
  }
}

interface Refusal {
  readonly error: unknown
  /** What our parser said, where it was the parser. */
  readonly cause: unknown
}

/** The text as JSON. @throws what our side has refused it with, where Go does not read it either. */
async function readByGo(engine: GoRenderer, text: string, { error, cause }: Refusal): Promise<string> {
  // G1
  if (!(cause instanceof YamlSyntaxError)) throw error
  try {
    const request = { engine: 'GoTemplate', name: 'yaml', template: TO_JSON, files: {} } as const
    return (await engine.render({ ...request, binding: { text } })).output
  } catch (failure) {
    // Also where Go needs more time, memory or room than it may have.
    if (failure instanceof TemplateError && failure.code !== 'TemplateCrashed') throw error
    throw failure
  }
}
