const words = (text: string): readonly string[] => text.trim().split(/,\s+/)

/** The hundred classes of CIFAR-100, in the order of their labels. */
export const SPECIES = words(`
  apple, aquarium fish, baby, bear, beaver, bed, bee, beetle, bicycle, bottle, bowl, boy, bridge, bus, butterfly, camel, can, castle, caterpillar,
  cattle, chair, chimpanzee, clock, cloud, cockroach, couch, crab, crocodile, cup, dinosaur, dolphin, elephant, flatfish, forest, fox, girl, hamster,
  house, kangaroo, keyboard, lamp, lawn mower, leopard, lion, lizard, lobster, man, maple tree, motorcycle, mountain, mouse, mushroom, oak tree,
  orange, orchid, otter, palm tree, pear, pickup truck, pine tree, plain, plate, poppy, porcupine, possum, rabbit, raccoon, ray, road, rocket, rose,
  sea, seal, shark, shrew, skunk, skyscraper, snail, snake, spider, squirrel, streetcar, sunflower, sweet pepper, table, tank, telephone, television,
  tiger, tractor, train, trout, tulip, turtle, wardrobe, whale, willow tree, wolf, woman, worm`)

/** Its twenty groups of five classes each, in the order of the coarse labels. */
export const GROUPS = words(`
  aquatic mammals, fish, flowers, food containers, fruit and vegetables, household electrical devices, household furniture, insects,
  large carnivores, large man-made outdoor things, large natural outdoor scenes, large omnivores and herbivores, medium-sized mammals,
  non-insect invertebrates, people, reptiles, small mammals, trees, vehicles 1, vehicles 2`)
