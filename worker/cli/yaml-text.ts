// Answers as YAML, whose library is loaded only when a user asks for YAML.

export async function yamlText(value: unknown): Promise<string> {
  const { writeYaml } = await import('../../activities/yaml/write-yaml.ts')
  return writeYaml(value)
}
