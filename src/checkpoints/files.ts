/** The group: its central model, and whatever its rule keeps from round to round. */
export const GROUP_FILE = 'group.safetensors'
/** The model that is evaluated, with its statistics, as `save` writes it. */
export const MODEL_FILE = 'model.safetensors'
/** A learner's weights and its optimiser's states. */
export const learnerFile = (rank: number): string => `learner-${rank}.safetensors`
