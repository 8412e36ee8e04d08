// Parses YAML with Go's parser when the npm parser refuses it: Go, and so Landscaper, accepts flow collections and quoted texts whose lines are
// indented less than their parent.
//
//   G1. Go parses only texts with a syntax error of the npm parser, once. A text that exceeds a limit is refused without Go.
//   G2. Go's JSON is limited like any rendering, and is parsed like any other text.

import type { TenantData } from '../../bounded/tenant-data.ts'
import { BlueprintError, TemplateError } from '../render-errors.ts'
import { YamlSyntaxError } from '../../../yaml/read-yaml.ts'

/** Landscaper decodes YAML with sigs.k8s.io/yaml, which implements `fromYaml` here. */
const TO_JSON_TEMPLATE = '{{ fromYaml .text | mustToJson }}'

/** The part of a template engine that can call Go's parser. */
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

/** The same data, with Go's parser as fallback for YAML. */
export function withGoFallback(data: TenantData, engine: GoRenderer): TenantData {
  return {
    ...data,
    async yaml(text, place) {
      try {
        return await data.yaml(text, place)
      } catch (error) {
        const json = await parseWithGo(engine, text, { error, cause: error })
        // Implements G2.
        return await data.yaml(json)
      }
    },
    async definition(text) {
      try {
        return await data.definition(text)
      } catch (error) {
        const cause = error instanceof BlueprintError ? error.cause : undefined
        const json = await parseWithGo(engine, text, { error, cause })
        return await data.definition(text, json)
      }
    },
  }
}

interface Refusal {
  readonly error: unknown
  /** The npm parser's error, if that was the reason. */
  readonly cause: unknown
}

/** The text as JSON. @throws the original error if Go refuses the text, too. */
async function parseWithGo(engine: GoRenderer, text: string, { error, cause }: Refusal): Promise<string> {
  // Implements G1.
  if (!(cause instanceof YamlSyntaxError)) throw error
  try {
    const request = { engine: 'GoTemplate', name: 'yaml', template: TO_JSON_TEMPLATE, files: {} } as const
    return (await engine.render({ ...request, binding: { text } })).output
  } catch (failure) {
    // Also if Go exceeds the limit for time, memory or output.
    if (failure instanceof TemplateError && failure.code !== 'TemplateCrashed') throw error
    throw failure
  }
}
