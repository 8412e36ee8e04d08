// Formats an answer as YAML. The YAML library is loaded only when needed.

export async function yamlText(value: unknown): Promise<string> {
  const { writeYaml } = await import('../../activities/yaml/write-yaml.ts')
  return writeYaml(value)
}
