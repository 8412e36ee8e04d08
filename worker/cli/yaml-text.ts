// Answers as YAML, whose library is loaded where somebody wants it only.

import { readJson, writeJson } from '../../workflows/kit/index.ts'

/** Of what JSON keeps of a value: times are texts, and what is undefined is not there. */
export async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(readJson(writeJson(value)))
}
