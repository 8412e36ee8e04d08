// A mistake in `--wings`, or in a module of `--controllers`, is told by the command at once, in one line, and not by the processes that it starts.

/**
 * @param acts whether their activities are run; `only`: of which.
 * @throws with the file, what was found and what was expected.
 */
export async function checkControllers(
  controllers: string | undefined,
  wings: string | undefined,
  { acts, only }: { readonly acts: boolean; readonly only?: string | undefined },
): Promise<void> {
  if (controllers === undefined && wings === undefined) return
  // The commands that need none of this start faster without it.
  const { controllerFiles, loadRegistry } = await import('../server/registry.ts')
  const { enabledWings: wingsOn } = await import('../server/wings.ts')
  const { levels } = await loadRegistry(controllerFiles(controllers), wingsOn(wings))
  if (!acts) return
  const { loadOwnActivities } = await import('../server/load-controllers.ts')
  const served = only?.split(',').map((name) => name.trim())
  await loadOwnActivities(levels.filter(({ name }) => served?.includes(name) ?? true))
}
